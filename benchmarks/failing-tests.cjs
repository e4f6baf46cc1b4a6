// Reads items as JSON from standard input, and writes the names of the tests that fail in each.
// Each item runs in a process of its own, with limits: a broken program may take all memory.
'use strict';

const assert = require('node:assert');
const { fork } = require('node:child_process');
const { createRequire } = require('node:module');
const vm = require('node:vm');

const MEMORY = 96;
const SECONDS = 30;

function script(item, own, babel) {
  const presets = item.suffix === 'ts' ? [own.resolve('@babel/preset-typescript')] : [];
  const plugins = item.is_module ? [own.resolve('@babel/plugin-transform-modules-commonjs')] : [];
  const filename = `/program.${item.suffix}`;
  const options = { presets, plugins, filename, babelrc: false, configFile: false };
  return babel.transformSync(item.buggy, options).code;
}

async function failing(item, code) {
  const found = [];
  let from = 0;
  while (from < item.cases.length) {
    const ended = new Set();
    const child = fork(__filename, ['child'], { execArgv: [`--max-old-space-size=${MEMORY}`], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    await new Promise((resolve) => {
      const timer = setTimeout(() => child.kill('SIGKILL'), SECONDS * 1000);
      child.on('message', ({ name, ok }) => {
        ended.add(name);
        if (!ok) found.push(name);
      });
      child.on('exit', () => {
        clearTimeout(timer);
        resolve();
      });
      child.send({ code, setup: item.setup, cases: item.cases.slice(from) });
    });
    from += ended.size;
    // The process has ended in this one: it took all memory, or waits for what never comes.
    if (from < item.cases.length) found.push(item.cases[from++][0]);
  }
  return found;
}

async function inChild({ code, setup, cases }) {
  for (const [name, body] of cases) {
    let ok = true;
    try {
      const module = { exports: {} };
      vm.runInThisContext(`(function (module, exports, require) {${code}\n})`)(module, module.exports, require);
      const source = `(async (m, assert) => { ${setup}; ${body} })`;
      globalThis.call = vm.runInThisContext(source).bind(null, module.exports, assert);
      const late = new Promise((_, reject) => setTimeout(reject, 3000).unref());
      await Promise.race([vm.runInThisContext('call()', { timeout: 2000 }), late]);
    } catch {
      ok = false;
    }
    process.send({ name, ok });
  }
  process.disconnect();
}

async function main() {
  const own = createRequire(process.argv[2]);
  const babel = own('@babel/core');
  const found = {};
  const waiting = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
  async function work() {
    while (waiting.length > 0) {
      const item = waiting.shift();
      let code = null;
      try {
        code = script(item, own, babel);
      } catch {
        found[item.id] = item.cases.map(([name]) => name);
      }
      if (code !== null) found[item.id] = await failing(item, code);
    }
  }
  await Promise.all([work(), work()]);
  process.stdout.write(JSON.stringify(found), () => process.exit(0));
}

if (process.argv[2] === 'child') process.once('message', inChild);
else main();
