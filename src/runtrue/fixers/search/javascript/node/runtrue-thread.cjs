// Loaded before a test script, in its thread: notes what node:test finds, and the lines that ran.
'use strict';

const fs = require('node:fs');
const { Coverage } = require('./runtrue-coverage.cjs');
const { described } = require('./runtrue-errors.cjs');

const settings = JSON.parse(process.env.RUNTRUE_THREAD);
delete process.env.RUNTRUE_THREAD;
const coverage = settings.cover ? new Coverage(settings.root) : null;
const tests = [];

if (settings.nodeTest && coverage) {
  const { beforeEach, afterEach } = require('node:test');
  beforeEach(() => {
    coverage.take();
  });
  afterEach((test) => {
    // Older versions do not say how a test ended.
    if (test && test.passed !== undefined) {
      const name = (test.fullName || test.name).split(' > ').join(' ');
      const cause = test.error && (test.error.cause || test.error);
      const error = test.passed ? undefined : described(cause);
      tests.push({ name, ok: test.passed, error, lines: coverage.take() });
    }
  });
}

process.on('exit', () => {
  const lines = coverage ? coverage.take() : undefined;
  fs.writeFileSync(settings.report, JSON.stringify({ lines, tests }));
});
