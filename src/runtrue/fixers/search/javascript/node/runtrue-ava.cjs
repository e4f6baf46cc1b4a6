// ava: its own runner, in a thread that stays. What a candidate changes is loaded again.
'use strict';

const Module = require('node:module');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { whenLate } = require('./runtrue-late.cjs');

/** Runs after which the thread is made again: modules that were loaded are never forgotten. */
const RUNS = 300;

async function open({ root, options }) {
  const own = Module.createRequire(path.join(process.cwd(), 'package.json'));
  const ava = path.dirname(path.dirname(own.resolve('ava')));
  let worker = null;
  let runs = 0;

  function started() {
    if (worker && runs++ < RUNS) return worker;
    if (worker) worker.terminate();
    runs = 0;
    const env = { ...process.env, RUNTRUE_AVA: JSON.stringify({ ava, root }) };
    const file = path.join(__dirname, 'runtrue-ava-thread.mjs');
    worker = new Worker(file, { execArgv: [...options], env, stdout: true, stderr: true });
    worker.stdout.resume();
    worker.stderr.resume();
    return worker;
  }

  /** Run some tests of a file; a thread that hangs or dies is given up. */
  const runFile = (request, seconds) =>
    new Promise((resolve) => {
      const one = started();
      const end = (answer) => {
        cancel();
        for (const name of ['message', 'error', 'exit']) one.removeAllListeners(name);
        resolve(answer);
      };
      const lose = (type, message, late) => {
        worker = null;
        one.on('error', () => {});
        one.terminate();
        end({ error: { type, message, stack: '' }, late, tests: [] });
      };
      const cancel = whenLate(seconds, () => lose('TimeUp', 'did not end in time', true));
      one.once('message', end);
      one.once('error', (error) => lose(String(error && error.name), String(error && error.message)));
      one.once('exit', () => lose('Error', 'process.exit was called'));
      one.postMessage(request);
    });

  return {
    async run({ files, names, cover, whole, seconds }) {
      const found = [];
      for (const file of files) {
        const prefix = `${file}::`;
        const own = names && names.filter((name) => name.startsWith(prefix));
        const titles = own ? own.map((name) => name.slice(prefix.length)) : null;
        const request = { file: path.resolve(root, file), titles, cover: !!cover };
        const { tests, error, late } = await runFile(request, seconds);
        found.push(...tests.map(({ name, ...rest }) => ({ test: prefix + name, ...rest })));
        if (error) found.push({ test: file, ok: false, error, late });
        if (!whole && found.some((one) => !one.ok)) break;
      }
      return found;
    },
  };
}

module.exports = { open };
