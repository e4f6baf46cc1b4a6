// Forgets the project's own modules, so that a candidate is loaded anew; packages stay loaded.
'use strict';

const Module = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const version = new Int32Array(new SharedArrayBuffer(4));
let registered = false;

/** Let each `forget` also give the project's ES modules other addresses. */
function versionEsModules(root) {
  if (registered || typeof Module.register !== 'function') return;
  registered = true;
  Module.register(pathToFileURL(path.join(__dirname, 'runtrue-hooks.mjs')), {
    data: { root: pathToFileURL(`${root}${path.sep}`).href, version },
  });
}

function forget(root) {
  Atomics.add(version, 0, 1);
  const modules = `${path.sep}node_modules${path.sep}`;
  for (const file of Object.keys(require.cache)) {
    if (file.startsWith(root + path.sep) && !file.slice(root.length).includes(modules)) {
      const module = require.cache[file];
      delete require.cache[file];
      // Otherwise its parents would hold every candidate in memory.
      if (module && module.parent) {
        const at = module.parent.children.indexOf(module);
        if (at >= 0) module.parent.children.splice(at, 1);
      }
    }
  }
}

module.exports = { forget, versionEsModules };
