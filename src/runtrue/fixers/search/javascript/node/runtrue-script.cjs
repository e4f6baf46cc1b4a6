// Scripts that say by their exit code whether they passed: node:test, tape, tap, plain asserts.
// Each file of each candidate runs in a thread of its own, which can be ended.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { whenLate } = require('./runtrue-late.cjs');

const KEEP = 64 * 1024;
let count = 0;

async function open({ root, scratch, options, nodeTest }) {
  return {
    async run({ files, cover, whole, seconds }) {
      const tests = [];
      for (const file of files) {
        const found = await runFile(file, { root, scratch, options, nodeTest, cover, seconds });
        tests.push(...found);
        if (!whole && found.some((one) => !one.ok)) break;
      }
      return tests;
    },
  };
}

function runFile(file, { root, scratch, options, nodeTest, cover, seconds }) {
  return new Promise((resolve) => {
    const report = path.join(scratch, `script-${process.pid}-${++count}.json`);
    const began = Date.now();
    let output = '';
    let uncaught = null;
    let late = false;
    const worker = new Worker(path.resolve(root, file), {
      argv: [],
      execArgv: [...options, '--require', path.join(__dirname, 'runtrue-thread.cjs')],
      env: { ...process.env, RUNTRUE_THREAD: JSON.stringify({ root, report, nodeTest, cover: !!cover }) },
      stdout: true,
      stderr: true,
    });
    for (const stream of [worker.stdout, worker.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text) => {
        if (output.length < KEEP) output += text;
      });
    }
    const cancel = whenLate(seconds, () => {
      late = true;
      worker.terminate();
    });
    worker.on('error', (error) => {
      uncaught = error;
    });
    worker.on('exit', (code) => {
      cancel();
      let lines;
      let named = [];
      try {
        ({ lines, tests: named } = JSON.parse(fs.readFileSync(report, 'utf8')));
        fs.unlinkSync(report);
      } catch {
        // It died before it could write.
      }
      const ok = code === 0 && !late && uncaught === null;
      const seconds = (Date.now() - began) / 1000;
      const error = ok ? undefined : failure(uncaught, late, output);
      resolve([
        { test: file, ok, error, seconds, lines, late },
        ...named.map(({ name, ...rest }) => ({ test: `${file}::${name}`, seconds: 0, ...rest })),
      ]);
    });
  });
}

function failure(uncaught, late, output) {
  if (late) return { type: 'TimeUp', message: 'did not end in time', stack: '' };
  if (uncaught) {
    const { name, message, stack } = uncaught;
    return { type: String(name || 'Error'), message: String(message), stack: String(stack) };
  }
  const type = /^\s*(?:name: '|error: |)(\w*Error)\b/m.exec(output);
  return { type: type ? type[1] : 'Failed', message: output.slice(-4000), stack: output };
}

module.exports = { open };
