// vitest: its own server stays, and runs the test files again after each candidate.
'use strict';

const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { described } = require('./runtrue-errors.cjs');
const { keptPool } = require('./runtrue-vitest-pool.cjs');

async function open({ root, words, scratch }) {
  const own = Module.createRequire(path.join(process.cwd(), 'package.json'));
  const node = await import(pathToFileURL(own.resolve('vitest/node')).href);
  const { options } = parsed(node, words);
  const lines = path.join(scratch, 'vitest-lines');
  const flag = path.join(scratch, 'vitest-cover');
  const edited = path.join(scratch, 'vitest-edited');
  let before = [];
  const setup = path.join(process.cwd(), '.runtrue-setup.mjs');
  fs.writeFileSync(setup, setupFile({ root, lines, flag, edited }));
  const isKept = !!node.ThreadsPoolWorker;
  const vitest = await node.createVitest('test', {
    ...options,
    setupFiles: [...[].concat(options.setupFiles || []), setup],
    run: true,
    watch: false,
    coverage: { enabled: false },
    cache: false,
    passWithNoTests: true,
    reporters: [{}],
    // Of a thread that is kept, vitest forgets the modules before each file if it is to isolate.
    ...(isKept ? { pool: keptPool(node) } : { pool: 'threads', isolate: false }),
    maxWorkers: 1,
    minWorkers: 1,
    fileParallelism: false,
  });
  if (vitest.standalone) await vitest.standalone();
  return {
    async run({ files, names, changed, cover, whole }) {
      fs.rmSync(lines, { force: true });
      if (cover) fs.writeFileSync(flag, '');
      else fs.rmSync(flag, { force: true });
      // What the candidate before has changed is as it was: that is a change too.
      const now = (changed || []).map((file) => path.resolve(root, file));
      const stale = [...new Set([...before, ...now])];
      before = now;
      for (const file of stale) vitest.invalidateFile(file);
      fs.writeFileSync(edited, JSON.stringify(stale));
      vitest.config.bail = whole ? 0 : 1;
      const project = vitest.getRootProject();
      let only;
      if (names) {
        const titles = names.map((name) => name.slice(name.indexOf('::') + 2));
        only = new RegExp(`^\\s*(${titles.map(escaped).join('|')})$`);
      }
      if (vitest.setGlobalTestNamePattern && only) vitest.setGlobalTestNamePattern(only);
      else if (vitest.resetGlobalTestNamePattern) vitest.resetGlobalTestNamePattern();
      // A thread that is kept has the settings that it was started with.
      const options = only && isKept ? [{ testNamePattern: only }] : [];
      const chosen = files.length
        ? files.map((file) => project.createSpecification(path.resolve(root, file), ...options))
        : await vitest.globTestSpecifications();
      const { testModules } = await vitest.runTestSpecifications(chosen, false);
      const tests = [];
      for (const module of testModules) {
        const file = path.relative(root, module.moduleId).split(path.sep).join('/');
        let ran = 0;
        for (const test of module.children.allTests()) {
          const { state, errors } = test.result();
          if (state !== 'passed' && state !== 'failed') continue;
          ran++;
          const name = `${file}::${test.fullName.split(' > ').join(' ')}`;
          const ok = state === 'passed';
          const seconds = (test.diagnostic()?.duration || 0) / 1000;
          tests.push({ test: name, ok, error: ok ? undefined : described(errors[0]), seconds });
        }
        const broken = module.errors();
        if (broken.length) tests.push({ test: file, ok: false, error: described(broken[0]) });
        else if (!ran) tests.push({ test: file, ok: false, error: described(new Error('no test ran')) });
      }
      if (cover && fs.existsSync(lines)) {
        const seen = new Map();
        for (const line of fs.readFileSync(lines, 'utf8').split('\n').filter(Boolean)) {
          const one = JSON.parse(line);
          seen.set(`${path.relative(root, one.file).split(path.sep).join('/')}::${one.name}`, one.lines);
        }
        for (const test of tests) test.lines = seen.get(test.test);
      }
      return tests;
    },
  };
}

/** Return a file that counts, in the threads of the tests, the lines that each of them runs. */
function setupFile({ root, lines, flag, edited }) {
  return `
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { afterEach, beforeEach } from 'vitest';

const modules = globalThis.__vitest_worker__?.evaluatedModules;
if (modules?.fileToModulesMap && fs.existsSync(${JSON.stringify(edited)})) {
  for (const file of JSON.parse(fs.readFileSync(${JSON.stringify(edited)}, 'utf8'))) {
    for (const one of modules.fileToModulesMap.get(file) || []) modules.invalidateModule(one);
  }
}
if (fs.existsSync(${JSON.stringify(flag)})) {
  const require = createRequire(${JSON.stringify(__filename)});
  const { Coverage } = require('./runtrue-coverage.cjs');
  const coverage = new Coverage(${JSON.stringify(root)});
  beforeEach(() => {
    coverage.take();
  });
  afterEach(({ task }) => {
    const names = [];
    for (let one = task; one && one !== task.file; one = one.suite) names.unshift(one.name);
    const text = { file: task.file.filepath, name: names.join(' '), lines: coverage.take() };
    fs.appendFileSync(${JSON.stringify(lines)}, JSON.stringify(text) + '\\n');
  });
}
`;
}

function parsed(node, words) {
  try {
    return node.parseCLI(['vitest', ...words.filter((word) => word !== '--run')]);
  } catch {
    return { options: {} };
  }
}

function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/ /g, '\\s+');
}

module.exports = { open };
