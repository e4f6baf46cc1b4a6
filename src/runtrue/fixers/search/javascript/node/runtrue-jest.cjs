// jest: one run of its own core for each candidate, in this process.
'use strict';

const Module = require('node:module');
const path = require('node:path');
const { Coverage } = require('./runtrue-coverage.cjs');

async function open({ root, words, scratch }) {
  const own = Module.createRequire(path.join(process.cwd(), 'package.json'));
  const jest = Module.createRequire(own.resolve('jest'));
  const cli = jest('jest-cli');
  const core = Module.createRequire(jest.resolve('jest-cli'))('@jest/core');
  const argv = await cli.buildArgv([...words]);
  return {
    async run({ files, names, cover, whole }) {
      const coverage = cover ? new Coverage(root) : null;
      const titles = names && names.map((name) => name.slice(name.indexOf('::') + 2));
      const { results } = await core.runCLI(
        {
          ...argv,
          _: files.length ? files.map((file) => path.resolve(root, file)) : argv._,
          $0: 'jest',
          bail: whole ? 0 : 1,
          cacheDirectory: path.join(scratch, 'jest'),
          ci: true,
          collectCoverage: false,
          coverage: false,
          passWithNoTests: true,
          reporters: [],
          runInBand: true,
          runTestsByPath: files.length > 0,
          silent: true,
          testNamePattern: titles ? `^(${titles.map(escaped).join('|')})$` : undefined,
          testPathPatterns: undefined,
          watch: false,
          watchAll: false,
          watchman: false,
        },
        [process.cwd()],
      );
      const lines = coverage ? coverage.take() : undefined;
      if (coverage) coverage.stop();
      const tests = [];
      for (const file of results.testResults) {
        const name = path.relative(root, file.testFilePath).split(path.sep).join('/');
        const ran = file.testResults.filter((one) => one.status === 'passed' || one.status === 'failed');
        for (const one of ran) {
          const ok = one.status === 'passed';
          const error = ok ? undefined : failure(one);
          const seconds = (one.duration || 0) / 1000;
          tests.push({ test: `${name}::${one.fullName.trim()}`, ok, error, seconds, lines });
        }
        if (file.failureMessage && !ran.some((one) => one.status === 'failed')) {
          const error = { type: 'Error', message: file.failureMessage, stack: file.failureMessage };
          tests.push({ test: name, ok: false, error, lines });
        }
      }
      return tests;
    },
  };
}

function failure(test) {
  const stack = test.failureMessages.join('\n');
  const details = (test.failureDetails || [])[0] || {};
  const result = details.matcherResult || {};
  return {
    type: details.matcherResult ? 'AssertionError' : String(/^(\w+): /.exec(stack)?.[1] || 'Error'),
    message: String(result.message || details.message || stack.split('\n    at ')[0]),
    stack,
    expected: shown(result.expected),
    actual: shown(result.actual),
  };
}

function shown(value) {
  if (value === undefined) return undefined;
  return require('node:util').inspect(value, { depth: 4, breakLength: 200 }).slice(0, 4000);
}

function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

module.exports = { open };
