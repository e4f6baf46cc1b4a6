// jest: its own core makes the environment of each test file, which stays for all candidates.
'use strict';

const Module = require('node:module');
const path = require('node:path');
const { Coverage } = require('./runtrue-coverage.cjs');
const { LOOPS } = require('./runtrue-jest-loop.cjs');

/** Environments that are kept, and runs after which one is made again. */
const MOST = 8;
const RUNS = 400;

async function open({ root, words, scratch }) {
  const own = Module.createRequire(path.join(process.cwd(), 'package.json'));
  const jest = Module.createRequire(own.resolve('jest'));
  const cli = buildsArgv(jest);
  const inner = Module.createRequire(jest.resolve('jest-cli'));
  const core = inner('@jest/core');
  const argv = await cli.buildArgv([...words]);
  const given = {
    ...argv,
    $0: 'jest',
    cacheDirectory: path.join(scratch, 'jest'),
    ci: true,
    collectCoverage: false,
    coverage: false,
    passWithNoTests: true,
    reporters: [],
    runInBand: true,
    silent: true,
    testPathPatterns: undefined,
    watch: false,
    watchAll: false,
    watchman: false,
  };
  const { configs } = await inner('jest-config').readConfigs({ ...given, _: [] }, [process.cwd()]);
  const framework = configs[0].testRunner;
  const kept = new Map();
  globalThis[LOOPS] = kept;

  /** Run jest on some files; a `testRunner` of ours keeps each of them. */
  const start = (files, more) =>
    core.runCLI({ ...given, _: files, runTestsByPath: files.length > 0, ...more }, [process.cwd()]);

  async function runFile(file, titles) {
    let one = kept.get(file);
    if (one && one.runs >= RUNS) {
      one.close();
      one = undefined;
    }
    if (!one) {
      if (kept.size >= MOST) kept.values().next().value.close();
      one = new KeptFile(file, framework, kept);
      kept.set(file, one);
      const ended = start([file], { testRunner: require.resolve('./runtrue-jest-loop.cjs') });
      ended.then(
        ({ results }) => one.end(results.testResults[0]?.failureMessage),
        (error) => one.end(error),
      );
    }
    return one.run(titles ? `^(${titles.map(escaped).join('|')})$` : '');
  }

  return {
    async run({ files, names, cover, whole }) {
      const titles = names && names.map((name) => name.slice(name.indexOf('::') + 2));
      if (!files.length) return (await start(argv._, { bail: 0 })).results.testResults.flatMap((one) => casesOf(one, root));
      const tests = [];
      for (const file of files.map((one) => path.resolve(root, one))) {
        const coverage = cover ? new Coverage(root) : null;
        const result = { testFilePath: file, ...(await runFile(file, titles)) };
        const lines = coverage ? coverage.take() : undefined;
        if (coverage) coverage.stop();
        const found = casesOf(result, root, lines);
        tests.push(...found);
        if (!whole && found.some((one) => !one.ok)) break;
      }
      return tests;
    },
  };
}

/** Before version 30, `buildArgv` is not among what the package exports. */
function buildsArgv(jest) {
  const cli = jest('jest-cli');
  return cli.buildArgv ? cli : jest(path.join(path.dirname(jest.resolve('jest-cli')), 'run.js'));
}

/** A test file whose environment stays: the loop in it takes one request after another. */
class KeptFile {
  constructor(file, framework, kept) {
    Object.assign(this, { file, framework, kept, runs: 0, waiting: null, request: null, why: null });
    this.next = () =>
      new Promise((resolve) => {
        this.waiting = resolve;
        this.give();
      });
  }

  run(pattern) {
    this.runs++;
    return new Promise((resolve) => {
      const failed = (error) => resolve({ failureMessage: `${(error && error.stack) || error}`, testResults: [] });
      this.request = { pattern, done: resolve, failed };
      if (this.why !== null) failed(this.why);
      else this.give();
    });
  }

  give() {
    if (!this.waiting || !this.request) return;
    const { waiting, request } = this;
    this.waiting = this.request = null;
    this.asked = request;
    waiting(request);
  }

  close() {
    this.kept.delete(this.file);
    if (this.waiting) this.waiting(null);
  }

  /** jest is done with the file: nothing more can be run in it. */
  end(why) {
    this.why = why || 'the environment has ended';
    if (this.kept.get(this.file) === this) this.kept.delete(this.file);
    for (const one of [this.request, this.asked]) if (one) one.failed(this.why);
  }
}

function casesOf(file, root, lines) {
  const name = path.relative(root, file.testFilePath).split(path.sep).join('/');
  const ran = file.testResults.filter((one) => one.status === 'passed' || one.status === 'failed');
  const tests = ran.map((one) => {
    const ok = one.status === 'passed';
    const seconds = (one.duration || 0) / 1000;
    return { test: `${name}::${one.fullName.trim()}`, ok, error: ok ? undefined : failure(one), seconds, lines };
  });
  const message = file.failureMessage || (file.testExecError && file.testExecError.message);
  if (message && !ran.some((one) => one.status === 'failed')) {
    tests.push({ test: name, ok: false, error: { type: 'Error', message, stack: message }, lines });
  }
  return tests;
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
