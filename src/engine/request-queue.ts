// Request queue of one engine, bounded and fair between clients. Some requests are with the engine, the others wait here;
// when one ends, the next client's oldest request is sent (round-robin), so a light client waits for at most one round of a
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
}

/** Bounds for an engine with these options. `queueMax`: requests that may wait. */
export function queueBounds(options: EngineOptions, queueMax: number): QueueBounds {
  const computed = options.kind === "text" ? options.maxSeqs : options.kind === "image" ? 1 : SPEECHES_MAX;
  return { places: computed + queueMax, atOnce: computed + Math.ceil(computed * ENGINE_AHEAD) };
}

/** A waiting request. */
interface Waiter {
  readonly client: string;
  readonly go: () => void;
}

export class RequestQueue {
  private readonly atOnce: number;
  private readonly places: FairShare;
  private running = 0;
  /** Waiting requests by client; the first client is served next and then moves to the end. */
  private readonly lines = new Map<string, Waiter[]>();
  private count = 0;

  constructor({ places, atOnce }: QueueBounds) {
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
  async enter({ client, place }: Caller, signal: AbortSignal, needsTurn: boolean): Promise<() => void> {
    this.places.mustTake(client);
    place?.enteredQueue();
    let hasTurn = false;
    let hasLeft = false;
    const leave = (): void => {
      if (hasLeft) return;
      hasLeft = true;
      this.places.release(client);
      if (hasTurn) this.next();
      place?.release();
    };
    try {
      if (needsTurn) await this.turn(client, signal);
      hasTurn = needsTurn;
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  private async turn(client: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.running < this.atOnce) {
      this.running++;
      return;
    }
    const turn = Promise.withResolvers<void>();
    const waiter: Waiter = { client, go: turn.resolve };
    const line = this.lines.get(client);
    if (line === undefined) this.lines.set(client, [waiter]);
    else line.push(waiter);
    this.count++;
    const abort = (): void => {
      if (this.remove(waiter)) turn.reject(signal.reason);
    };
    await withAbort(signal, abort, turn.promise);
  }

  /** A request has ended; the next one starts. */
  private next(): void {
    const first = this.lines.entries().next();
    if (first.done === true) {
      this.running--;
      return;
    }
    const [client, line] = first.value;
    const waiter = line.shift();
    this.lines.delete(client);
    if (line.length > 0) this.lines.set(client, line); // at the end now
    this.count--;
    waiter?.go();
  }

  /** False: it is no longer waiting. */
  private remove(waiter: Waiter): boolean {
    const line = this.lines.get(waiter.client);
    const index = line?.indexOf(waiter) ?? -1;
    if (line === undefined || index < 0) return false;
    line.splice(index, 1);
    if (line.length === 0) this.lines.delete(waiter.client);
    this.count--;
    return true;
  }
}
