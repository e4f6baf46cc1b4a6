// A reporter for node's own test runner that writes each result as a signed line.
"use strict";

const write = require("../jest_reporter/runtrue-signed.cjs")();
const { inspect } = require("node:util");

const { parse, stringify } = JSON;

/** As people are shown it. */
const shown = (value) =>
  value === undefined || typeof value === "string" ? value : inspect(value, { depth: 5 });

function plain(error) {
  // What a test threw is the cause of what the runner says about it.
  const cause = error && error.cause !== undefined ? error.cause : error;
  const held = { failureType: error && error.failureType };
  if (typeof cause !== "object" || cause === null) return { ...held, message: shown(cause) };
  for (const name of ["name", "message", "stack", "code"]) {
    if (typeof cause[name] === "string") held[name] = cause[name];
  }
  if ("expected" in cause) held.expected = shown(cause.expected);
  if ("actual" in cause) held.actual = shown(cause.actual);
  return parse(stringify(held));
}

module.exports = async function* report(source) {
  write({ event: "start" });
  const tests = [];
  const printed = {};
  // The tests around the present one, and whether each has had a result inside of it.
  const open = [];
  for await (const { type, data } of source) {
    if (type === "test:start") {
      open.length = data.nesting;
      open.push({ name: data.name, inner: false });
    } else if (type === "test:stderr" && data.file) {
      printed[data.file] = (printed[data.file] || "") + data.message;
    } else if (type === "test:pass" || type === "test:fail") {
      const own = open[data.nesting];
      const isWhole = (own && own.inner) || (data.details && data.details.type === "suite");
      const error = type === "test:fail" ? plain(data.details && data.details.error) : null;
      for (const around of open.slice(0, data.nesting)) around.inner = true;
      // A group of tests says nothing that these do not, unless it failed by itself.
      if (isWhole && (!error || error.failureType === "subtestsFailed")) continue;
      tests.push({
        path: [...open.slice(0, data.nesting).map((around) => around.name), data.name],
        file: data.file,
        line: data.line,
        duration: data.details && data.details.duration_ms,
        skipped: data.skip !== undefined || data.todo !== undefined,
        error,
        printed: error && data.file ? printed[data.file] : undefined,
      });
    }
  }
  write({ event: "end", report: { tests } });
};
