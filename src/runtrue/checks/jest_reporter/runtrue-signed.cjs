// The report: lines that nobody else can write, change or leave out. See signed_report.py.
//
// The key is in a file beside the report, which is read before any test is loaded; what stays
// there is the key of the next session, from which this one's cannot be derived.
"use strict";

const crypto = require("node:crypto");
const fs = require("node:fs");

// Held here, not looked up: a program may put others in their places.
const { createHash } = crypto;
const { appendFileSync, readFileSync, renameSync, writeFileSync } = fs;
const { stringify } = JSON;
const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);

// Of the hash of the key and the line, one half is the signature, the other the key of the next line.
const digest = (key, text) => createHash("sha512").update(key).update(text).digest();

/** The number and the key of this session; those of the next are left in the file. */
function takeKey(path) {
  const mine = `${path}.${process.pid}`;
  for (let left = 100; left > 0; left -= 1) {
    try {
      // Several may be started side by side: only one of them gets the file.
      renameSync(path, mine);
    } catch {
      wait();
      continue;
    }
    const [number, text] = readFileSync(mine, "utf8").split(" ");
    const key = Buffer.from(text, "hex");
    writeFileSync(mine, `${Number(number) + 1} ${digest(key, "session").toString("hex", 0, 32)}`);
    renameSync(mine, path);
    return [Number(number), key];
  }
  // Sealed with none, so that it is seen that somebody has taken it.
  return [0, Buffer.alloc(0)];
}

/** Open the report that $RUNTRUE_REPORT names; what is returned writes a line, at once. */
module.exports = function openReport() {
  const path = process.env.RUNTRUE_REPORT;
  // Hidden from tests, and from what they start.
  delete process.env.RUNTRUE_REPORT;
  const taken = takeKey(`${path}.key`);
  const session = taken[0];
  let key = taken[1];
  return (line) => {
    const data = stringify(line);
    const whole = digest(key, data);
    const signature = whole.toString("hex", 32);
    key = whole.subarray(0, 32);
    appendFileSync(path, `${session} ${signature} ${data}\n`, { mode: 0o600 });
  };
};
