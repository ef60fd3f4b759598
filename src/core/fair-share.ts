// Places of a bounded queue, shared among clients: one client alone may take all, but cannot keep others out.

import { assert } from "./assert.ts";
import { ServiceError } from "./error.ts";

/** Factor of the capacity at which a queue rejects every client: client identities are cheap to make. */
const FULLEST = 2;

export class FairShare {
  private readonly full: () => number;
  private readonly held = new Map<string, { count: number; readonly weight: number }>();
  private weights = 0; // of those who hold some
  private count = 0;

  /** `full`: places that there are. */
  constructor(full: () => number) {
    this.full = full;
  }

  /** Places taken. */
  get taken(): number {
    return this.count;
  }

  /**
   * Takes a place; false when this client gets none. While all are taken, a client may still have one that holds
   * less than its share of them by weight, so that a few more than `full` may be taken.
   */
  take(client: string, weight = 1): boolean {
    const full = this.full();
    const own = this.held.get(client)?.count ?? 0;
    const clients = this.held.size + (own === 0 ? 1 : 0);
    const weights = this.weights + (own === 0 ? weight : 0);
    const isShort = own < (full * weight) / weights && this.count < full * FULLEST;
    if (this.count >= full && !(clients > 1 && isShort)) return false;
    const held = this.held.get(client);
    if (held === undefined) this.held.set(client, { count: 1, weight });
    else held.count++;
    this.weights = weights;
    this.count++;
    return true;
  }

  /** Takes a place. Throws `queue_full` when this client gets none; `what` the requests wait for. */
  mustTake(client: string, what = "this model", weight = 1): void {
    if (!this.take(client, weight)) throw queueFull(this.count, what);
  }

  /** Gives a place back. */
  release(client: string): void {
    const held = this.held.get(client);
    assert(held !== undefined, "a place is released once");
    this.count--;
    if (--held.count > 0) return;
    this.held.delete(client);
    this.weights -= held.weight;
  }
}

export function queueFull(waiting: number, what: string): ServiceError {
  const message = `${waiting} requests are already waiting for ${what}; try again soon`;
  return new ServiceError("queue_full", message, { retryAfterSecs: 1 });
}
