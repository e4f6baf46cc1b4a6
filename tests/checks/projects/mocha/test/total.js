const assert = require("node:assert");
const { total, label } = require("../total.js");

describe("total", () => {
  it("adds prices", () => {
    assert.deepStrictEqual({ sum: total([1, 2]) }, { sum: 3 });
  });
  it("of nothing", () => {
    assert.strictEqual(total([]), 0);
  });
  it("later");
});
it("passes", () => {});
it("labels nothing", () => {
  label(undefined);
});
it("asks the network", async () => {
  throw Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
});
describe("with a database", () => {
  before(() => {
    throw new RangeError("no database");
  });
  it("works", () => {});
});
