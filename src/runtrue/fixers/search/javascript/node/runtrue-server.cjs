// Runs a project's tests on one candidate after another, in a process that stays warm.
//
// Requests are lines of JSON on a socket: {do: 'run', id, files, names, cover, seconds}. The answer
// is {id, end, tests: [{test, ok, error, seconds, lines}]}. Candidates are on the disk, in a copy of
// the project that is this process's own.
'use strict';

const net = require('node:net');
const path = require('node:path');

const settings = JSON.parse(process.env.RUNTRUE_PROVER);
delete process.env.RUNTRUE_PROVER;
const { runner } = settings;
if (!/^[a-z]+$/.test(runner)) throw new Error(`no runner ${runner}`);

const socket = net.connect(settings.socket);
const answer = (message) => socket.write(`${JSON.stringify(message)}\n`);
// Tests may leave timers, and rejections that nobody awaits: those are no reason to end.
process.on('unhandledRejection', () => {});
process.on('uncaughtException', () => {});
socket.on('close', () => process.kill(process.pid, 'SIGKILL'));

let buffer = '';
let queue = Promise.resolve();
socket.setEncoding('utf8');
socket.on('data', (text) => {
  buffer += text;
  const lines = buffer.split('\n');
  buffer = lines.pop();
  for (const line of lines) {
    const request = JSON.parse(line);
    if (request.do === 'run') queue = queue.then(() => run(request));
  }
});

async function run(request) {
  try {
    const tests = await opened.then((one) => one.run(request));
    answer({ id: request.id, end: 'ran', tests });
  } catch (error) {
    answer({ id: request.id, end: 'broken', detail: `${(error && error.stack) || error}` });
  }
}

process.exit = (code) => {
  throw new Error(`process.exit(${code}) was called`);
};
const opened = require(path.join(__dirname, `runtrue-${runner}.cjs`)).open(settings);
opened.then(
  () => answer({ hello: 'ready', key: settings.key, pid: process.pid }),
  (error) =>
    answer({ hello: 'broken', key: settings.key, pid: process.pid, detail: `${error && error.stack}` }),
);
