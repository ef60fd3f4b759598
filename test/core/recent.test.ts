import { expect, test } from "bun:test";
import { Recent } from "../../src/core/recent.ts";

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

test("a value that was found counts as used", () => {
  const recent = new Recent<string, number>(2);
  recent.set(1, "a");
  recent.set(2, "b");
  expect(recent.find(1)).toBe("a");
  recent.set(3, "c");
  expect([1, 2, 3].map((key) => recent.find(key))).toEqual(["a", undefined, "c"]);
});

test("values count by their size, and one that is too large is not kept", () => {
  const recent = new Recent<string>(5, (text) => text.length);
  recent.set("a", "111");
  recent.set("b", "22");
  recent.set("a", "1");
  recent.set("c", "33");
  expect(["a", "b", "c"].map((key) => recent.find(key))).toEqual(["1", "22", "33"]);
  recent.set("d", "444");
  expect(["a", "b", "c", "d"].map((key) => recent.find(key))).toEqual([undefined, undefined, "33", "444"]);
  recent.set("e", "666666");
  expect(recent.find("e")).toBeUndefined();
});
