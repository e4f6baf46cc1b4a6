// vitest: its own server stays, and runs the test files again after each candidate.
'use strict';

const Module = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { described } = require('./runtrue-errors.cjs');

async function open({ root, words, scratch }) {
  const own = Module.createRequire(path.join(process.cwd(), 'package.json'));
  const node = await import(pathToFileURL(own.resolve('vitest/node')).href);
  const { options } = parsed(node, words);
  const vitest = await node.createVitest('test', {
    ...options,
    run: true,
    watch: false,
    coverage: { enabled: false },
    cache: false,
    passWithNoTests: true,
    reporters: [{}],
    pool: 'threads',
    isolate: false,
    maxWorkers: 1,
    minWorkers: 1,
    fileParallelism: false,
  });
  if (vitest.standalone) await vitest.standalone();
  return {
    async run({ files, names, changed, whole }) {
      for (const file of changed || []) vitest.invalidateFile(path.resolve(root, file));
      vitest.config.bail = whole ? 0 : 1;
      const project = vitest.getRootProject();
      const wanted = names && new Set(names);
      if (vitest.setGlobalTestNamePattern && wanted) {
        const titles = names.map((name) => name.slice(name.indexOf('::') + 2));
        vitest.setGlobalTestNamePattern(new RegExp(`^\\s*(${titles.map(escaped).join('|')})$`));
      } else if (vitest.resetGlobalTestNamePattern) vitest.resetGlobalTestNamePattern();
      const chosen = files.length
        ? files.map((file) => project.createSpecification(path.resolve(root, file)))
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
      return tests;
    },
  };
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
