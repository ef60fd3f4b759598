import { describe, expect, test } from "bun:test";
import { AdapterScheduler } from "../../../src/worker/text/adapter-scheduler.ts";

describe("adapter scheduling", () => {
  test("a single adapter keeps its time slice", () => {
    const adapters = new AdapterScheduler();
    adapters.take(1, 0);
    expect(adapters.order([1], 10_000)).toEqual([1]);
    expect(adapters.order([], 10_000)).toEqual([]);
  });

  test("after a time slice, the adapter that has waited longest is next", () => {
    const adapters = new AdapterScheduler();
    adapters.take(1, 1000);
    expect(adapters.order([0, 1, 2], 1010)[0]).toBe(1);
    expect(adapters.order([0, 1, 2], 1100)).toEqual([2, 0, 1]); // 2 never had a time slice
    adapters.take(2, 1100);
    expect(adapters.order([0, 1, 2], 1200)).toEqual([0, 1, 2]);
    adapters.take(0, 1200);
    expect(adapters.order([0, 1, 2], 1300)).toEqual([1, 2, 0]);
  });

  test("all adapters have the same share of steps", () => {
    const adapters = new AdapterScheduler();
    const steps = [0, 0, 0];
    for (let nowMs = 0; nowMs < 30_000; nowMs += 10) {
      const [next = 0] = adapters.order([0, 1, 2], nowMs);
      adapters.take(next, nowMs);
      steps[next] = (steps[next] ?? 0) + 1;
    }
    for (const count of steps) expect(Math.abs(count - 1000)).toBeLessThan(20);
  });
});
