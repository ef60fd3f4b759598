// Compute threads beside busy programs, on a machine with a clock and processors of its own.

import { expect, test } from "bun:test";
import { ComputeThreads, type ThreadSystem } from "../../ffi/llama/compute-threads.ts";
import { busiest } from "../../ffi/llama/contention.ts";

/** A machine whose passes take 10 ms. */
class Machine implements ThreadSystem {
  /** Processors that another program keeps busy. */
  readonly busy = new Set<number>();
  readonly places: number[]; // processor of each thread
  used: readonly [number, number] = [0, 0];
  ties = 0;
  private time = 0;
  private readonly waits: number[];
  private readonly idles = new Map<number, number>();

  constructor(processors: number) {
    this.places = Array.from({ length: processors }, (_, i) => i);
    this.waits = this.places.map(() => 0);
  }

  tie(count: number): { id: number; processor: number }[] {
    this.ties++;
    for (const i of this.places.keys()) this.places[i] = i;
    return this.places.slice(0, count).map((processor, id) => ({ id, processor }));
  }
  move(thread: number, processor: number): void {
    this.places[thread] = processor;
  }
  waited(thread: number): number | undefined {
    return this.waits[thread];
  }
  idle(): ReadonlyMap<number, number> {
    return new Map(this.idles);
  }
  now(): number {
    return this.time;
  }
  use(threads: number, threadsBatch: number): void {
    this.used = [threads, threadsBatch];
  }
  readonly pass = (): void => {
    this.time += 10;
    for (const [thread, processor] of this.places.entries()) {
      const computes = thread < this.used[0];
      if (computes && this.busy.has(processor)) this.waits[thread] = (this.waits[thread] ?? 0) + 5;
      if (!computes && !this.busy.has(processor))
        this.idles.set(processor, (this.idles.get(processor) ?? 0) + 10);
    }
  };
}

function started(processors: number, adapts = true): { machine: Machine; run: (ms: number) => void } {
  const machine = new Machine(processors);
  const threads = new ComputeThreads(machine, processors, processors, adapts);
  machine.use(processors, processors);
  threads.pin();
  const run = (ms: number): void => {
    for (let at = 0; at < ms; at += 10) threads.during(machine.pass);
  };
  return { machine, run };
}

test("passes of one token leave a processor that another program keeps busy, and come back when it is free", () => {
  const { machine, run } = started(2);
  run(2000);
  expect(machine.used).toEqual([2, 2]);
  machine.busy.add(0);
  run(1200);
  expect(machine.used).toEqual([1, 2]); // both still compute prompts
  expect(machine.places).toEqual([1, 0]); // the one that computes alone is where it is quiet
  run(20_000);
  expect(machine.used).toEqual([1, 2]);
  machine.busy.clear();
  run(2100);
  expect(machine.used).toEqual([2, 2]);
  expect(machine.places).toEqual([0, 1]);
});

test("several busy processors are left at once, and none when that were most", () => {
  const { machine, run } = started(8);
  for (const one of [1, 5]) machine.busy.add(one);
  run(1200);
  expect(machine.used).toEqual([6, 6]);
  expect(machine.places.slice(0, 6)).toEqual([0, 2, 3, 4, 6, 7]);
  const full = started(2);
  for (const one of [0, 1]) full.machine.busy.add(one);
  full.run(3000);
  expect(full.machine.used).toEqual([2, 2]);
});

test("a processor that is busy again at once is left alone for longer each time", () => {
  const { machine, run } = started(2);
  const tiesIn = (ms: number): number => {
    const before = machine.ties;
    for (let at = 0; at < ms; at += 100) {
      // Idle as soon as it is left.
      if (machine.used[0] === 2) machine.busy.add(1);
      else machine.busy.delete(1);
      run(100);
    }
    return machine.ties - before;
  };
  const first = tiesIn(20_000);
  const later = tiesIn(20_000);
  expect(first).toBeGreaterThan(2);
  expect(later).toBeLessThanOrEqual(1);
});

test("the number of threads stays where results must not depend on it", () => {
  const { machine, run } = started(2, false);
  machine.busy.add(0);
  run(3000);
  expect(machine.used).toEqual([2, 2]);
});

test("short waits count for nothing, and a program that moves between processors for one", () => {
  expect(busiest([0.09, 0.09, 0.09, 0.09])).toEqual([]);
  expect(busiest([0.05, 0.2])).toEqual([]);
  expect(busiest([0.23, 0.27])).toEqual([1]);
  expect(busiest([0, 0.98])).toEqual([1]);
  expect(busiest([0.5, 0.5])).toEqual([]);
});
