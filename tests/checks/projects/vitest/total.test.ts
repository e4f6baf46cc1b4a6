import assert from "node:assert";
import { describe, expect, test } from "vitest";
import { total, label } from "./total.js";

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
