// FIFO semaphore for calls to MCP servers. Knows nothing of MCP.

export class Gate {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(places: number) {
    this.free = places;
  }

  /** Waits for a slot. Returns a function that releases it; call it once. Rejects with the signal's reason on abort. */
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
      if (index < 0) return; // it already has the slot
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
    else next(); // hand over the slot
  }
}
