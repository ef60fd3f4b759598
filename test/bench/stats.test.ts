import { expect, test } from "bun:test";
import { median, pairRatio, quantile } from "../../bench/stats.ts";

test("median of odd, even and no values", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(median([])).toBeNaN();
});

test("quantile takes a value that was measured", () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(quantile(values, 0.5)).toBe(51);
  expect(quantile(values, 0.95)).toBe(96);
  expect(quantile([7], 0.95)).toBe(7);
});

test("pair ratios compare neighbours, so that drift cancels", () => {
  expect(pairRatio([10, 20, 40], [5, 10, 40])).toEqual({ median: 2, min: 1, max: 2 });
});
