import { describe, expect, test } from "bun:test";
import { AdapterScheduler } from "../../../src/worker/text/adapter-scheduler.ts";

describe("turns", () => {
  test("whoever is alone goes on", () => {
    const turns = new AdapterScheduler();
    turns.take(1, 0);
    expect(turns.order([1], 10_000)).toEqual([1]);
    expect(turns.order([], 10_000)).toEqual([]);
  });

  test("a turn lasts a while, then the one that has waited longest is next", () => {
    const turns = new AdapterScheduler();
    turns.take(1, 1000);
    expect(turns.order([0, 1, 2], 1010)[0]).toBe(1);
    expect(turns.order([0, 1, 2], 1100)).toEqual([2, 0, 1]); // 2 never had one
    turns.take(2, 1100);
    expect(turns.order([0, 1, 2], 1200)).toEqual([0, 1, 2]);
    turns.take(0, 1200);
    expect(turns.order([0, 1, 2], 1300)).toEqual([1, 2, 0]);
  });

  test("everyone has the same share of steps", () => {
    const turns = new AdapterScheduler();
    const steps = [0, 0, 0];
    for (let nowMs = 0; nowMs < 30_000; nowMs += 10) {
      const [next = 0] = turns.order([0, 1, 2], nowMs);
      turns.take(next, nowMs);
      steps[next] = (steps[next] ?? 0) + 1;
    }
    for (const count of steps) expect(Math.abs(count - 1000)).toBeLessThan(20);
  });
});
