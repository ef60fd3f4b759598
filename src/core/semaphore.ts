// FIFO semaphore: a bounded number of tasks run at the same time, the others wait in order and can be aborted.

import { withAbort } from "./with-abort.ts";

export class Semaphore {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(permits: number) {
    this.free = permits;
  }

  /** Runs the work once there is a permit. Rejects with the signal's reason when it is aborted before. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const release = await this.enter(signal);
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      release();
    }
  }

  /** Waits for a permit and returns its release, to be called once. Rejects with the signal's reason when it is aborted. */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.free === 0) await this.turn(signal);
    else this.free--;
    return () => this.leave();
  }

  private async turn(signal: AbortSignal): Promise<void> {
    const granted = Promise.withResolvers<void>();
    const grant = granted.resolve;
    const abort = (): void => {
      const index = this.waiting.indexOf(grant);
      if (index < 0) return; // the permit is granted already
      this.waiting.splice(index, 1);
      granted.reject(signal.reason);
    };
    this.waiting.push(grant);
    await withAbort(signal, abort, granted.promise);
  }

  private leave(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free++;
    else next(); // passes the permit on
  }
}
