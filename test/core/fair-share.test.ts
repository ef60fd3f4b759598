import { expect, test } from "bun:test";
import { FairShare } from "../../src/core/fair-share.ts";

test("one client may take all places, and no more", () => {
  const share = new FairShare(() => 3);
  expect([1, 2, 3, 4].map(() => share.take("a"))).toEqual([true, true, true, false]);
  share.release("a");
  expect(share.take("a")).toBe(true);
});

test("a client below its share is admitted to a full queue", () => {
  const share = new FairShare(() => 10);
  for (let i = 0; i < 10; i++) share.take("greedy");
  const light = Array.from({ length: 7 }, () => share.take("light"));
  expect(light).toEqual([true, true, true, true, true, false, false]); // half of them
  expect(share.take("greedy")).toBe(false);
});

test("many clients take at most twice the places", () => {
  const share = new FairShare(() => 50);
  for (let i = 0; i < 50; i++) share.take("greedy");
  const others = Array.from({ length: 10_000 }, (_, i) => share.take(`client ${i}`));
  expect(others.filter(Boolean).length).toBeLessThanOrEqual(50);
  expect(share.taken).toBeLessThanOrEqual(100);
});

test("a place that was never taken cannot be released", () => {
  const share = new FairShare(() => 2);
  share.take("a");
  share.release("a");
  expect(() => share.release("a")).toThrow("a place is released once");
  expect(share.taken).toBe(0);
});
