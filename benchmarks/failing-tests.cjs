// Reads items as JSON from standard input, and writes the names of the tests that fail in each.
'use strict';

const assert = require('node:assert');
const { createRequire } = require('node:module');
const vm = require('node:vm');

const own = createRequire(process.argv[2]);
const babel = own('@babel/core');
const plugins = [own.resolve('@babel/plugin-transform-modules-commonjs')];

function load(item) {
  const presets = item.suffix === 'ts' ? [own.resolve('@babel/preset-typescript')] : [];
  const filename = `/program.${item.suffix}`;
  const options = { presets, plugins: item.is_module ? plugins : [], filename, babelrc: false, configFile: false };
  const module = { exports: {} };
  const { code } = babel.transformSync(item.buggy, options);
  vm.runInThisContext(`(function (module, exports) {${code}\n})`)(module, module.exports);
  return module.exports;
}

async function failing(item) {
  const bad = [];
  for (const [name, body] of item.cases) {
    try {
      const m = load(item);
      const source = `(async (m, assert) => { ${item.setup}; ${body} })`;
      globalThis.call = vm.runInThisContext(source).bind(null, m, assert);
      await vm.runInThisContext('call()', { timeout: 2000 });
    } catch {
      bad.push(name);
    }
  }
  return bad;
}

(async () => {
  const items = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
  const found = {};
  for (const item of items) found[item.id] = await failing(item);
  process.stdout.write(JSON.stringify(found), () => process.exit(0));
})();
