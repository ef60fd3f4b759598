// The compute threads of a context: one tied to each processor, less those whose processor another program keeps busy.
//
// All threads meet at a barrier about a hundred times a token. A thread that shares its processor with a busy program makes the
// others wait for whole time slices, which costs half of the speed. So passes of one token leave such processors.
// Measured on two cores beside a busy process: p95 of a step 948 ms unpinned, 5 ms pinned. `OMP_PROC_BIND` would pin other threads and
// children, too; sleeping at barriers costs 4 to 6 ms a step on an idle machine.

import { busiest, type Contention, ContentionHold } from "./contention.ts";

/** What the system tells and does; a fake in tests. */
export interface ThreadSystem {
  /** Ties `count` threads, each to a processor. Returns their ids by processor, in the order of the team; [] if it cannot tell. */
  tie(count: number): readonly TiedThread[];
  move(thread: number, processor: number): void;
  /** Milliseconds that the thread waited for a processor so far; undefined: it has ended. */
  waited(thread: number): number | undefined;
  /** Milliseconds that each processor was idle so far. */
  idle(): ReadonlyMap<number, number>;
  now(): number;
  /** Sets the context's threads of passes with one token and with more. */
  use(threads: number, threadsBatch: number): void;
}

export interface TiedThread {
  readonly id: number;
  readonly processor: number;
}

/** Time of passes between two looks at the threads: a look takes some microseconds a thread. */
const WINDOW_MS = 300;
/** Time between two looks whether a processor is free again. */
const FREE_MS = 1000;
/** A processor is free again if it was idle for this share of the time. */
const FREE_SHARE = 0.7;

export class ComputeThreads {
  private readonly system: ThreadSystem;
  private readonly adapts: boolean;
  private threads: number;
  private threadsBatch: number;
  private tied: readonly TiedThread[] = [];
  private waited: readonly number[] = [];
  private passMs = 0;
  private busyWindows = 0;
  private left: readonly number[] = []; // processors
  private idleThen: ReadonlyMap<number, number> = new Map();
  private lookedAt = 0;
  private readonly hold = new ContentionHold();

  /** `adapts`: false where results must not depend on the number of threads. */
  constructor(system: ThreadSystem, threads: number, threadsBatch: number, adapts: boolean) {
    this.system = system;
    this.threads = threads;
    this.threadsBatch = threadsBatch;
    this.adapts = adapts;
  }

  /** Ties all threads, again after other threads have been started. */
  pin(): void {
    if (this.left.length > 0) this.system.use(this.threads, this.threadsBatch);
    this.left = [];
    this.tied = this.system.tie(Math.max(this.threads, this.threadsBatch));
    this.restart();
  }

  /** Sets the threads of passes with one token and with more. */
  set(threads: number, threadsBatch: number): void {
    this.threads = threads;
    this.threadsBatch = threadsBatch;
    this.system.use(threads, threadsBatch);
    this.left = [];
    this.tied = []; // measured as set: the caller compares numbers of threads
  }

  /** Computes a pass. */
  during<T>(pass: () => T): T {
    if (!this.adapts || this.tied.length < 2) return pass();
    const from = this.system.now();
    const result = pass();
    const now = this.system.now();
    if (this.left.length > 0) this.comeBack(now);
    else this.look(now - from, now);
    return result;
  }

  private look(passMs: number, now: number): void {
    this.passMs += passMs;
    if (this.passMs < WINDOW_MS) return;
    const before = this.waited;
    const shares = this.readWaited().map((ms, i) => (ms - (before[i] ?? ms)) / this.passMs);
    this.passMs = 0;
    if (shares.length === 0) return this.pin(); // a thread has ended
    const busy = busiest(shares);
    this.busyWindows = busy.length === 0 ? 0 : this.busyWindows + 1;
    if (this.busyWindows >= 2) this.leave(busy, now);
  }

  private leave(busy: Contention, now: number): void {
    const others = this.tied.filter((_, i) => !busy.includes(i));
    const left = this.tied.filter((_, i) => busy.includes(i));
    // The first threads of the team compute: they go where it is quiet.
    const processors = [...others, ...left].map(({ processor }) => processor);
    for (const [i, { id }] of this.tied.entries()) this.system.move(id, processors[i] ?? 0);
    // With two threads, passes of more tokens keep both: they wait less often, and take chunks of rows as they are ready.
    const { length } = others;
    const batch = length === 1 ? this.threadsBatch : Math.min(this.threadsBatch, length);
    this.system.use(Math.min(this.threads, length), batch);
    this.left = left.map(({ processor }) => processor);
    this.idleThen = this.system.idle();
    this.lookedAt = now;
    this.hold.left(now);
  }

  private comeBack(now: number): void {
    const elapsed = now - this.lookedAt;
    if (elapsed < FREE_MS) return;
    const idle = this.system.idle();
    const isFree = this.left.some(
      (one) => (idle.get(one) ?? 0) - (this.idleThen.get(one) ?? 0) >= elapsed * FREE_SHARE,
    );
    this.idleThen = idle;
    this.lookedAt = now;
    if (!this.hold.mayReturn(now, isFree)) return;
    this.hold.returned(now);
    this.pin();
  }

  private restart(): void {
    this.passMs = 0;
    this.busyWindows = 0;
    this.readWaited();
  }

  /** Empty if one has ended. */
  private readWaited(): readonly number[] {
    const all = this.tied.map(({ id }) => this.system.waited(id));
    this.waited = all.includes(undefined) ? [] : all.map((ms) => ms ?? 0);
    return this.waited;
  }
}
