// A mocha reporter that writes what its reporter `json` would have written, as signed lines.
"use strict";

const write = require("../jest_reporter/runtrue-signed.cjs")();

const { parse, stringify } = JSON;
const namesOf = Object.getOwnPropertyNames;

write({ event: "start" });

/** JSON of anything, in the order of names, whatever it holds. */
function shown(held) {
  const seen = new Set();
  const order = (_name, value) => {
    if (typeof value === "bigint") return String(value);
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return String(value);
    seen.add(value);
    if (Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  };
  return stringify(held, order, 2);
}

function plain(error) {
  const held = {};
  for (const name of namesOf(error || {})) held[name] = error[name];
  for (const name of ["expected", "actual"]) {
    // As people are shown them.
    if (typeof held[name] === "object" && held[name] !== null) held[name] = shown(held[name]);
  }
  return parse(shown(held));
}

const clean = (test) => ({
  title: test.title,
  fullTitle: test.fullTitle(),
  file: test.file,
  duration: test.duration,
  err: plain(test.err),
});

module.exports = class {
  constructor(runner) {
    const report = { passes: [], failures: [], pending: [] };
    runner.on("pass", (test) => report.passes.push(clean(test)));
    runner.on("fail", (test, error) => {
      test.err = error;
      report.failures.push(clean(test));
    });
    runner.on("pending", (test) => report.pending.push(clean(test)));
    runner.once("end", () => write({ event: "end", report }));
  }
};
