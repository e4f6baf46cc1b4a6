// mocha: each candidate gets a new Mocha, with the project's modules loaded again.
'use strict';

const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { Coverage } = require('./runtrue-coverage.cjs');
const { described } = require('./runtrue-errors.cjs');
const { forget } = require('./runtrue-modules.cjs');

async function open(settings) {
  const { root, words } = settings;
  const own = Module.createRequire(path.join(process.cwd(), 'package.json'));
  const versions = isMainThread ? versionsOf(root) : null;
  const main = own.resolve('mocha');
  const home = path.dirname(own.resolve('mocha/package.json'));
  const loaded = own(main);
  const Mocha = loaded.default || loaded;
  const options = optionsOf(own, home, words);
  for (const name of importsOf(options)) await import(pathToFileURL(own.resolve(name)).href);
  const plugins = [];
  for (const name of [].concat(options.require || [])) plugins.push(await load(own, name));
  const hooks = rootHooks(plugins);
  return {
    async run(request) {
      const { files, names, cover, whole } = request;
      // Where ES modules cannot be loaded again, each candidate gets a thread.
      if (isMainThread && !versions && files.some((file) => isEsModule(path.resolve(root, file)))) {
        return inThread(settings, request);
      }
      forget(root);
      const mocha = new Mocha({
        ...options,
        rootHooks: hooks,
        reporter: class {},
        bail: !whole,
        parallel: false,
        watch: false,
        forbidOnly: false,
        grep: undefined,
        fgrep: undefined,
      });
      for (const file of [...[].concat(options.file || []), ...files]) {
        mocha.addFile(path.resolve(root, file));
      }
      const wanted = names && new Set(names);
      const nameOf = (test) =>
        `${path.relative(root, test.file || '').split(path.sep).join('/')}::${test.fullTitle()}`;
      try {
        if (mocha.loadFilesAsync) await mocha.loadFilesAsync(versions ? { esmDecorator: versions() } : {});
        else mocha.loadFiles();
      } catch (error) {
        return files.map((file) => ({ test: file, ok: false, error: described(error) }));
      }
      mocha.files = [];
      if (mocha.lazyLoadFiles) mocha.lazyLoadFiles(true);
      if (wanted) keep(mocha.suite, (test) => wanted.has(nameOf(test)));
      const coverage = cover ? new Coverage(root) : null;
      const tests = [];
      let reached = 0;
      await new Promise((resolve) => {
        const running = mocha.run(() => resolve());
        running.on('test', () => coverage && coverage.take());
        running.on('pass', (test) => tests.push(record(test, null)));
        running.on('fail', (test, error) => tests.push(record(test, error)));
        function record(test, error) {
          reached++;
          const lines = coverage ? coverage.take() : undefined;
          const name = test.type === 'hook' ? `${nameOf(test)}` : nameOf(test);
          const seconds = (test.duration || 0) / 1000;
          return { test: name, ok: !error, error: error ? described(error) : undefined, seconds, lines };
        }
      });
      if (coverage) coverage.stop();
      if (mocha.dispose) {
        try {
          mocha.dispose();
        } catch {
          // It is let go of all the same.
        }
      }
      return reached ? tests : [{ test: files[0], ok: false, error: described(new Error('no test ran')) }];
    },
  };
}

/** Return what gives ES modules a new version in each run; null where they cannot be loaded again. */
function versionsOf(root) {
  let version = 0;
  try {
    // Otherwise mocha requires them, which gives what was loaded before.
    Object.defineProperty(process.features, 'require_module', { value: false });
    const data = pathToFileURL(root + path.sep).href;
    Module.register('./runtrue-versions.mjs', pathToFileURL(__filename), { data });
  } catch {
    return null;
  }
  return () => {
    const query = `?runtrue=${++version}`;
    return (file) => `${file}${query}`;
  };
}

function inThread(settings, request) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(__filename, {
      workerData: { settings, request },
      stdout: true,
      stderr: true,
    });
    worker.on('message', resolve);
    worker.on('error', reject);
    worker.on('exit', () => reject(new Error('the thread ended before its tests')));
  });
}

function isEsModule(file) {
  if (/\.mjs$|\.mts$/.test(file)) return true;
  if (/\.cjs$|\.cts$/.test(file)) return false;
  for (let place = path.dirname(file); ; place = path.dirname(place)) {
    const own = path.join(place, 'package.json');
    if (fs.existsSync(own)) return JSON.parse(fs.readFileSync(own, 'utf8')).type === 'module';
    if (place === path.dirname(place)) return false;
  }
}

function keep(suite, wants) {
  suite.tests = suite.tests.filter(wants);
  suite.suites.forEach((one) => keep(one, wants));
}

function optionsOf(own, home, words) {
  for (const name of ['options.js', 'options.cjs']) {
    try {
      const { loadOptions } = own(path.join(home, 'lib', 'cli', name));
      return loadOptions([...words]);
    } catch {
      // Another version keeps it elsewhere, or has none.
    }
  }
  return {};
}

/** Return what mocha would have node import before it starts, as `tsx`. */
function importsOf(options) {
  const given = [].concat(options['node-option'] || options.nodeOption || []);
  const named = given.map((one) => /^(?:--)?import=(.+)$/.exec(one)).filter(Boolean);
  return [].concat(options.import || [], ...named.map((one) => one[1]));
}

async function load(own, name) {
  let file = name;
  try {
    file = own.resolve(name);
  } catch {
    file = own.resolve(path.resolve(name));
  }
  try {
    return own(file);
  } catch (error) {
    if (error.code !== 'ERR_REQUIRE_ESM') throw error;
    return import(pathToFileURL(file).href);
  }
}

function rootHooks(plugins) {
  const hooks = { beforeAll: [], beforeEach: [], afterAll: [], afterEach: [] };
  for (const one of plugins) {
    const given = one && one.mochaHooks;
    if (!given || typeof given === 'function') continue;
    for (const name of Object.keys(hooks)) hooks[name].push(...[].concat(given[name] || []));
  }
  return hooks;
}

module.exports = { open };

if (!isMainThread && workerData && workerData.settings) {
  open(workerData.settings)
    .then((one) => one.run(workerData.request))
    .then((tests) => parentPort.postMessage(tests))
    .finally(() => process.exit(0));
}
