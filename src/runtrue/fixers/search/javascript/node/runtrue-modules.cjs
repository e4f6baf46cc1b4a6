// Forgets the project's own modules, so that a candidate is loaded again; packages stay loaded.
'use strict';

const path = require('node:path');

function forget(root) {
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

module.exports = { forget };
