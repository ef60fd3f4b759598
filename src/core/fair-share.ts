// Places of a bounded queue, shared among clients: one client alone may take all, but cannot keep others out.

import { assert } from "./assert.ts";
import { ServiceError } from "./error.ts";

/** Factor of the capacity at which a queue rejects every client: client identities are cheap to make. */
const FULLEST = 2;

export class FairShare {
  private readonly full: () => number;
  private readonly held = new Map<string, number>();
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
   * less than its share of them, so that a few more than `full` may be taken.
   */
  take(client: string): boolean {
    const full = this.full();
    const own = this.held.get(client) ?? 0;
    const clients = this.held.size + (own === 0 ? 1 : 0);
    const isShort = own < full / clients && this.count < full * FULLEST;
    if (this.count >= full && !(clients > 1 && isShort)) return false;
    this.held.set(client, own + 1);
    this.count++;
    return true;
  }

  /** Takes a place. Throws `queue_full` when this client gets none; `what` the requests wait for. */
  mustTake(client: string, what = "this model"): void {
    if (!this.take(client)) throw queueFull(this.count, what);
  }

  /** Gives a place back. */
  release(client: string): void {
    const held = this.held.get(client);
    assert(held !== undefined, "a place is released once");
    const left = held - 1;
    if (left > 0) this.held.set(client, left);
    else this.held.delete(client);
    this.count--;
  }
}

export function queueFull(waiting: number, what: string): ServiceError {
  const message = `${waiting} requests are already waiting for ${what}; try again soon`;
  return new ServiceError("queue_full", message, { retryAfterSecs: 1 });
}
