const assert = require("node:assert");
const { total, label } = require("./total.js");

describe("total", () => {
  test("adds prices", () => {
    expect({ sum: total([1, 2]) }).toEqual({ sum: 3 });
  });
  test("of nothing", () => {
    assert.strictEqual(total([]), 0);
  });
  test.skip("later", () => {});
});
test("passes", () => {});
test("labels nothing", () => {
  label(undefined);
});
test("asks the network", async () => {
  throw Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
});
