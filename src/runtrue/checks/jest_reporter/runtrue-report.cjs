// A jest reporter that writes what `jest --json` would have written, as signed lines: jest's
// own report is a file that any test can write as well.
"use strict";

const write = require("./runtrue-signed.cjs")();

write({ event: "start" });

module.exports = class {
  onRunComplete(_contexts, results) {
    const testResults = results.testResults.map((file) => ({
      name: file.testFilePath,
      status: file.numFailingTests > 0 || file.testExecError ? "failed" : "passed",
      message: file.failureMessage || "",
      assertionResults: file.testResults,
    }));
    write({ event: "end", report: { testResults } });
  }
};
