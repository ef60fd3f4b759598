// Request queue of one engine, bounded and fair between clients. Some requests are with the engine, the others wait here;
// when one ends, the next client's oldest request is sent (round-robin; as many in a row as its weight), so a light client waits for at most one round of a
// heavy one. Knows nothing of what an engine does.

import type { Caller } from "../core/caller.ts";
import { FairShare } from "../core/fair-share.ts";
import { withAbort } from "../core/with-abort.ts";
import { ENGINE_AHEAD, SPEECHES_MAX } from "./limits.ts";
import type { EngineOptions } from "./protocol.ts";

export interface QueueBounds {
  /** Maximum requests with the engine and waiting. */
  readonly places: number;
  /** Maximum requests with the engine. */
  readonly atOnce: number;
  /** Of these, how many it computes at a time. */
  readonly computed: number;
}

/** Bounds for an engine with these options. `queueMax`: requests that may wait. */
export function queueBounds(options: EngineOptions, queueMax: number): QueueBounds {
  const computed = options.kind === "text" ? options.maxSeqs : options.kind === "image" ? 1 : SPEECHES_MAX;
  const atOnce = computed + Math.ceil(computed * ENGINE_AHEAD);
  return { places: computed + queueMax, atOnce, computed };
}

/** A waiting request. */
interface Waiter {
  readonly client: string;
  readonly go: () => void;
}

/** Those of one client. */
interface Line {
  readonly waiters: Waiter[];
  /** Requests that are served before the next client's. */
  readonly weight: number;
  /** Those of them that were. */
  turns: number;
  /** Served when no other line waits and the engine has a place to spare. */
  readonly yields: boolean;
}

export class RequestQueue {
  private readonly atOnce: number;
  private readonly computed: number;
  private readonly places: FairShare;
  private running = 0;
  /** Waiting requests by client; the first client is served next and then moves to the end. */
  private readonly lines = new Map<string, Line>();
  private count = 0;
  /** Requests with the engine that go after all others: what ends them. */
  private readonly yielding = new Set<() => void>();

  constructor({ places, atOnce, computed }: QueueBounds) {
    this.computed = computed;
    this.places = new FairShare(() => places);
    this.atOnce = atOnce;
  }

  /** Waiting requests. */
  get waiting(): number {
    return this.count;
  }

  /**
   * Takes a place for a request of a caller and waits for its turn, unless it needs none. The returned function
   * releases both; only its first call counts. Rejects with `queue_full`, or with the signal's reason.
   */
  async enter(
    { client, place, watch, account, yields }: Caller,
    signal: AbortSignal,
    needsTurn: boolean,
  ): Promise<() => void> {
    const line = { client, weight: account?.weight ?? 1, yields: yields !== undefined };
    const { weight } = line;
    this.places.mustTake(client, undefined, weight);
    place?.enteredQueue();
    let hasTurn = false;
    let hasLeft = false;
    const leave = (): void => {
      if (hasLeft) return;
      hasLeft = true;
      this.places.release(client);
      if (yields !== undefined) this.yielding.delete(yields);
      if (hasTurn) this.next();
      place?.release();
    };
    try {
      const startMs = performance.now();
      if (needsTurn && yields === undefined) this.displace();
      if (needsTurn) await this.turn(line, signal);
      if (yields !== undefined) this.yielding.add(yields);
      watch?.queued((performance.now() - startMs) / 1000);
      hasTurn = needsTurn;
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Ends a request that goes after all others where one of them would wait for it in the engine. */
  private displace(): void {
    const [end] = this.yielding;
    if (end === undefined || this.running < this.computed) return;
    this.yielding.delete(end);
    end();
  }

  private async turn(
    { client, weight, yields }: Pick<Line, "weight" | "yields"> & { readonly client: string },
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    if (this.running < (yields ? this.computed : this.atOnce)) {
      this.running++;
      return;
    }
    const key = yields ? `${client}\nyields` : client;
    const turn = Promise.withResolvers<void>();
    const waiter: Waiter = { client: key, go: turn.resolve };
    const line = this.lines.get(key);
    if (line === undefined) this.lines.set(key, { waiters: [waiter], weight, turns: 0, yields });
    else line.waiters.push(waiter);
    this.count++;
    const abort = (): void => {
      if (this.remove(waiter)) turn.reject(signal.reason);
    };
    await withAbort(signal, abort, turn.promise);
  }

  /** A request has ended; the next one starts. */
  private next(): void {
    const first = this.nextLine();
    if (first === undefined) {
      this.running--;
      return;
    }
    const [client, line] = first;
    const waiter = line.waiters.shift();
    line.turns++;
    if (line.waiters.length === 0) this.lines.delete(client);
    else if (line.turns >= line.weight) {
      line.turns = 0;
      this.lines.delete(client);
      this.lines.set(client, line); // at the end now
    }
    this.count--;
    waiter?.go();
  }

  private nextLine(): readonly [string, Line] | undefined {
    let spare: readonly [string, Line] | undefined;
    for (const entry of this.lines) {
      if (!entry[1].yields) return entry;
      spare ??= entry;
    }
    return this.running <= this.computed ? spare : undefined;
  }

  /** False: it is no longer waiting. */
  private remove(waiter: Waiter): boolean {
    const line = this.lines.get(waiter.client);
    const index = line?.waiters.indexOf(waiter) ?? -1;
    if (line === undefined || index < 0) return false;
    line.waiters.splice(index, 1);
    if (line.waiters.length === 0) this.lines.delete(waiter.client);
    this.count--;
    return true;
  }
}
