// A jest reporter that writes what `jest --json` would have written, to the file that
// $RUNTRUE_REPORT names: with --bail jest ends before it writes its own.
"use strict";

const fs = require("node:fs");

module.exports = class {
  onRunComplete(_contexts, results) {
    const testResults = results.testResults.map((file) => ({
      name: file.testFilePath,
      status: file.numFailingTests > 0 || file.testExecError ? "failed" : "passed",
      message: file.failureMessage || "",
      assertionResults: file.testResults,
    }));
    fs.writeFileSync(process.env.RUNTRUE_REPORT, JSON.stringify({ testResults }));
  }
};
