// A jest reporter that writes what `jest --json` would have written, as lines under seal: jest's
// own report is a file that any test can write as well.
"use strict";

const tell = require("./runtrue-seal.cjs")();

tell({ event: "start" });

module.exports = class {
  onRunComplete(_contexts, results) {
    const testResults = results.testResults.map((file) => ({
      name: file.testFilePath,
      status: file.numFailingTests > 0 || file.testExecError ? "failed" : "passed",
      message: file.failureMessage || "",
      assertionResults: file.testResults,
    }));
    tell({ event: "end", report: { testResults } });
  }
};
