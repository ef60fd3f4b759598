import { expect, test } from "bun:test";
import { Recent } from "../../ffi/llama/recent.ts";

test("keeps the values of the most recently used keys, and makes the others again", () => {
  const recent = new Recent<number>(2);
  let made = 0;
  const get = (key: string): number => recent.get(key, () => ++made);
  expect(["a", "b", "a", "c", "a", "b"].map(get)).toEqual([1, 2, 1, 3, 1, 4]);
});

test("an error is not kept", () => {
  const recent = new Recent<number>(2);
  expect(() =>
    recent.get("a", () => {
      throw new Error("no");
    }),
  ).toThrow("no");
  expect(recent.get("a", () => 1)).toBe(1);
});
