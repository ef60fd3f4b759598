// Objects without their undefined members.

import { expect, test } from "bun:test";
import { defined } from "../../src/core/defined.ts";

test("undefined members are omitted; other empty values and the order are kept", () => {
  const fields = { a: undefined, b: null, c: 0, d: "", e: false, f: 1 };
  const result = defined(fields);
  expect(Object.keys(result)).toEqual(["b", "c", "d", "e", "f"]);
  expect("a" in result).toBe(false);
  expect("a" in fields).toBe(true);
});
