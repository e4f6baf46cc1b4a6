// The lines that ran since the last look, by file, as V8 has counted them.
'use strict';

const fs = require('node:fs');
const inspector = require('node:inspector');
const path = require('node:path');
const { SourceMap } = require('node:module');
const { fileURLToPath } = require('node:url');

const INLINE = /\/\/[#@] sourceMappingURL=data:application\/json[^,]*;base64,([A-Za-z0-9+/=]+)/g;

class Coverage {
  constructor(root) {
    this.root = root;
    this.session = new inspector.Session();
    this.session.connect();
    this.sources = new Map();
    this.post('Profiler.enable');
    this.post('Debugger.enable');
    this.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  post(method, parameters) {
    let answer;
    this.session.post(method, parameters, (error, result) => {
      answer = error ? undefined : result;
    });
    return answer;
  }

  /** Return {file: [line, …]} of the project's own files, and begin to count again. */
  take() {
    const found = {};
    for (const script of (this.post('Profiler.takePreciseCoverage') || { result: [] }).result) {
      const file = this.own(script.url);
      if (file === null) continue;
      const lines = this.lines(script, file);
      if (lines.size) {
        const name = path.relative(this.root, file).split(path.sep).join('/');
        found[name] = [...new Set([...(found[name] || []), ...lines])];
      }
    }
    return found;
  }

  stop() {
    this.session.disconnect();
  }

  own(url) {
    let file = url.replace(/\?.*$/, '');
    if (file.startsWith('file:')) file = fileURLToPath(file);
    if (!path.isAbsolute(file)) return null;
    const inside = path.relative(this.root, file);
    if (inside.startsWith('..') || inside.split(path.sep).includes('node_modules')) return null;
    return file;
  }

  source(script, file) {
    if (!this.sources.has(script.scriptId)) {
      const got = this.post('Debugger.getScriptSource', { scriptId: script.scriptId });
      const text = got ? got.scriptSource : fs.readFileSync(file, 'utf8');
      const inline = [...text.matchAll(INLINE)].pop();
      let map = null;
      if (inline) {
        try {
          map = new SourceMap(JSON.parse(Buffer.from(inline[1], 'base64').toString()));
        } catch {
          map = null;
        }
      }
      this.sources.set(script.scriptId, { text, map });
    }
    return this.sources.get(script.scriptId);
  }

  lines(script, file) {
    const found = new Set();
    if (!script.functions.some((one) => one.ranges.some((range) => range.count > 0))) return found;
    const { text, map } = this.source(script, file);
    const counts = new Uint8Array(text.length);
    for (const one of script.functions) {
      for (const range of one.ranges) {
        counts.fill(range.count > 0 ? 1 : 0, range.startOffset, range.endOffset);
      }
    }
    let line = 0;
    let column = 0;
    let seen = false;
    for (let at = 0; at < text.length; at++, column++) {
      const code = text.charCodeAt(at);
      if (code === 10) {
        line++;
        column = -1;
        seen = false;
      } else if (!seen && counts[at] && code > 32 && code !== 125) {
        if (map === null) {
          seen = true;
          found.add(line + 1);
        } else {
          const entry = map.findEntry(line, column);
          if (entry && entry.originalLine !== undefined) found.add(entry.originalLine + 1);
        }
      }
    }
    return found;
  }
}

module.exports = { Coverage };
