import { expect, test } from "bun:test";
import { leftOut, shorten } from "../../src/core/shorten.ts";

test("beginning and end stay; the middle states the omitted bytes", () => {
  const text = `begin${"x".repeat(10_000)}end`;
  const short = shorten(text, 1000);
  expect(short.length).toBeLessThanOrEqual(1000);
  expect(short).toStartWith("beginx");
  expect(short).toEndWith("xend");
  const [, gone] = /\n\[… (\d+) bytes left out …\]\n/.exec(short) ?? [];
  expect(short.length - leftOut(Number(gone)).length + Number(gone)).toBe(text.length);
});

test("bytes omitted earlier are counted again", () => {
  const text = "a".repeat(5000) + leftOut(1_000_000) + "b".repeat(5000);
  const gone = Number(/(\d+) bytes/.exec(shorten(text, 1000))?.[1]);
  expect(gone).toBeGreaterThan(1_009_000);
});

test("characters stay whole; a tiny budget keeps the beginning", () => {
  expect(shorten("😀".repeat(1000), 501).isWellFormed()).toBe(true);
  expect(shorten("äöüß", 2)).toBe("äö");
  expect(shorten("short", 5)).toBe("short");
});
