// One resource for each session: created at the first call, used by one call at a time, closed after a long idle time.
// Sessions whose id no request has sent are evicted first, then the oldest of the client with the most: 66 one-shot requests of one key
// would end the interpreters of all others.

import { ServiceError } from "../core/error.ts";
import { leastWorth } from "../core/least-worth.ts";
import { EXEC_BRIEF_IDLE_MS, EXEC_IDLE_MS, EXEC_SESSIONS_MAX, EXEC_SWEEP_MS } from "./limits.ts";

/** Resource of a session. */
export interface Owned {
  /** Ends running work; its call ends soon after. */
  stop(): void;
  /** Frees the resource. No call is running. */
  close(): Promise<void>;
}

/** The session of a call. */
export interface SessionOf {
  /** Who calls: a key, else an address. */
  readonly client: string;
  readonly sessionId: string;
  /** No request has named the session: its resource goes before others, and sooner. */
  readonly isBrief?: boolean;
}

interface Entry<T> {
  readonly owned: T;
  /** Who opened it: a key, else an address. */
  readonly client: string;
  isBrief: boolean;
  /** Settles with the latest call. */
  tail: Promise<void>;
  calls: number;
  usedAt: number;
}

export class SessionMap<T extends Owned> {
  private readonly make: (sessionId: string) => T;
  private readonly idleMs: number;
  private readonly entries = new Map<string, Entry<T>>();
  private readonly closing = new Set<Promise<void>>();
  private readonly sweeper: ReturnType<typeof setInterval>;
  private isClosed = false;

  constructor(make: (sessionId: string) => T, idleMs = EXEC_IDLE_MS) {
    this.make = make;
    this.idleMs = idleMs;
    this.sweeper = setInterval(() => this.sweep(), Math.min(EXEC_SWEEP_MS, idleMs));
    this.sweeper.unref();
  }

  get size(): number {
    return this.entries.size;
  }

  /** Runs `work` after earlier calls of the session. Throws `queue_full` when all sessions are busy. */
  async use<R>({ sessionId, client, isBrief }: SessionOf, work: (owned: T) => Promise<R>): Promise<R> {
    const entry = this.entries.get(sessionId) ?? this.open(sessionId, client);
    entry.isBrief = isBrief ?? entry.isBrief;
    const before = entry.tail;
    const done = Promise.withResolvers<void>();
    entry.tail = done.promise;
    entry.calls++;
    try {
      await before;
      return await work(entry.owned);
    } finally {
      entry.calls--;
      entry.usedAt = performance.now();
      done.resolve();
    }
  }

  /** Ends the session's work and frees its resource; the next call creates another. */
  async dispose(sessionId: string): Promise<void> {
    const entry = this.entries.get(sessionId);
    if (entry === undefined) return;
    this.entries.delete(sessionId);
    entry.owned.stop();
    const closing = entry.tail.then(() => entry.owned.close());
    this.closing.add(closing);
    try {
      await closing;
    } finally {
      this.closing.delete(closing);
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.sweeper);
    await Promise.all([...this.entries.keys()].map((id) => this.dispose(id)));
    await Promise.all(this.closing);
  }

  private open(sessionId: string, client: string): Entry<T> {
    if (this.isClosed) throw new ServiceError("shutting_down", "the server is stopping");
    if (this.entries.size >= EXEC_SESSIONS_MAX) this.makeRoom();
    const owned = this.make(sessionId);
    const entry: Entry<T> = {
      owned,
      client,
      isBrief: false,
      tail: Promise.resolve(),
      calls: 0,
      usedAt: performance.now(),
    };
    this.entries.set(sessionId, entry);
    return entry;
  }

  private makeRoom(): void {
    const idle = [...this.entries].filter(([, { calls }]) => calls === 0);
    const oldestFirst = idle.sort(([, a], [, b]) => a.usedAt - b.usedAt);
    const victim = leastWorth(oldestFirst.map(([item, { client, isBrief }]) => ({ item, client, isBrief })));
    if (victim === undefined) {
      throw new ServiceError(
        "queue_full",
        `${EXEC_SESSIONS_MAX} sessions are already using tools; try again later`,
      );
    }
    void this.dispose(victim);
  }

  private sweep(): void {
    const now = performance.now();
    for (const [id, { calls, usedAt, isBrief }] of this.entries) {
      const idleMs = isBrief ? Math.min(EXEC_BRIEF_IDLE_MS, this.idleMs) : this.idleMs;
      if (calls === 0 && now - usedAt >= idleMs) void this.dispose(id);
    }
  }
}
