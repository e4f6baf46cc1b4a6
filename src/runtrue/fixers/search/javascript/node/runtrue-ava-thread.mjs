// The thread in which ava's own runner runs one test file after another.
import Module from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { parentPort } from 'node:worker_threads';

const { ava, root } = JSON.parse(process.env.RUNTRUE_AVA);
delete process.env.RUNTRUE_AVA;
const require = Module.createRequire(import.meta.url);
const { Coverage } = require('./runtrue-coverage.cjs');
const { unversioned } = require('./runtrue-errors.cjs');
const own = Module.createRequire(path.join(process.cwd(), 'package.json'));
const part = async (name) => import(pathToFileURL(path.join(ava, 'lib', name)).href);
const settings = own('./package.json').ava || {};
const { failWithoutAssertions } = settings;

Module.register('./runtrue-versions.mjs', import.meta.url, { data: pathToFileURL(`${root}/`).href });
(await part('chalk.js')).set({ level: 0 });
require(path.join(ava, 'lib/worker/options.cjs')).set({ projectDir: process.cwd() });
const { default: Runner } = await part('runner.js');
let runner = null;
let version = 0;
// Test files import this once; it stands for the runner of the run that is on.
require(path.join(ava, 'lib/worker/state.cjs')).refs.runnerChain = new Proxy(() => {}, {
  apply: (_, self, given) => runner.chain(...given),
  get: (_, name) => runner.chain[name],
});
for (const one of [settings.require || []].flat()) await import(pathToFileURL(own.resolve(one)).href);

parentPort.on('message', async (request) => {
  try {
    parentPort.postMessage({ tests: await run(request) });
  } catch (error) {
    const { name, message, stack } = error || {};
    const shown = { type: String(name || 'Error'), message: String(message), stack: unversioned(stack) };
    parentPort.postMessage({ tests: [], error: shown });
  }
});

async function run({ file, titles, cover }) {
  for (const one of Object.keys(Module._cache)) {
    if (one.startsWith(root) && !one.includes('node_modules')) delete Module._cache[one];
  }
  // A pattern would take some signs for more than they are: then all tests are run.
  const match = titles && titles.every((one) => !/[*!\\]/.test(one)) ? titles : [];
  const projectDir = process.cwd();
  const mine = new Runner({ file, projectDir, match, serial: cover, failWithoutAssertions });
  runner = mine;
  const coverage = cover ? new Coverage(root) : null;
  const take = () => (coverage ? coverage.take() : undefined);
  const tests = [];
  let broken = null;
  mine.on('stateChange', (event) => {
    const { type, title, err, duration } = event.type ? event : event.data;
    if (type === 'selected-test') take();
    if (type === 'hook-failed') broken = described(err);
    if (type !== 'test-passed' && type !== 'test-failed') return;
    const ok = type === 'test-passed';
    const error = ok ? undefined : described(err);
    tests.push({ name: title, ok, error, lines: take(), seconds: (duration || 0) / 1000 });
  });
  const ended = new Promise((resolve, reject) => {
    mine.on('finish', resolve);
    mine.on('error', reject);
  });
  await import(`${pathToFileURL(file).href}?runtrue=${++version}`);
  if (!mine.nextTaskIndex) throw new Error('no test ran');
  await ended;
  if (coverage) coverage.stop();
  if (broken) throw Object.assign(new Error(broken.message), { stack: broken.stack });
  return tests;
}

function described({ type, name, message, stack, formattedDetails, formattedError }) {
  const details = (formattedDetails || []).map((one) => `${one.label}\n${one.formatted}`);
  return {
    type: type === 'ava' ? 'AssertionError' : String(name || 'Error'),
    message: [message || formattedError, ...details].join('\n'),
    stack: unversioned(stack),
  };
}
