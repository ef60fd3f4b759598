// Lets so many calls through at the same time, in the order they came.

export class Gate {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(places: number) {
    this.free = places;
  }

  /** Waits for a place and returns how to give it back, once. Rejects with the signal's reason when it is aborted. */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.free === 0) await this.turn(signal);
    else this.free--;
    return () => this.leave();
  }

  private async turn(signal: AbortSignal): Promise<void> {
    const called = Promise.withResolvers<void>();
    const enter = called.resolve;
    const giveUp = (): void => {
      const index = this.waiting.indexOf(enter);
      if (index < 0) return; // the place is already its own
      this.waiting.splice(index, 1);
      called.reject(signal.reason);
    };
    this.waiting.push(enter);
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      await called.promise;
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  private leave(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free++;
    else next(); // the place goes on to the next one
  }
}
