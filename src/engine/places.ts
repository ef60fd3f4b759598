// Limits how many models are loaded at once (`max_loaded_models`). A model without a place queues for one, and for each
// queued model the least recently used holder is unloaded.

/** A model that holds or wants a place. */
export interface Holder {
  /** It has open requests. */
  readonly isBusy: boolean;
  /** When its last request ended, on any clock. */
  readonly usedAt: number;
  /** Unloads it when its requests have ended, and releases its place. */
  unload(): Promise<void>;
}

interface Waiting {
  readonly holder: Holder;
  readonly go: () => void;
}

export class Places {
  /** Maximum loaded models; Infinity by default. */
  readonly max: number;
  private readonly holders = new Set<Holder>();
  private readonly unloading = new Set<Holder>();
  private readonly queue: Waiting[] = [];

  constructor(max: number = Infinity) {
    this.max = max;
  }

  /** Waits for a place. Rejects with the signal's reason on abort; then there is nothing to release. */
  async take(holder: Holder, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.holders.size < this.max) return void this.holders.add(holder);
    const turn = Promise.withResolvers<void>();
    const waiting: Waiting = { holder, go: turn.resolve };
    const abort = (): void => {
      const index = this.queue.indexOf(waiting);
      if (index >= 0) this.queue.splice(index, 1);
      turn.reject(signal.reason);
    };
    this.queue.push(waiting);
    signal.addEventListener("abort", abort, { once: true });
    this.evict();
    try {
      await turn.promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Releases a place to the next in the queue. */
  release(holder: Holder): void {
    if (!this.holders.delete(holder)) return;
    this.unloading.delete(holder);
    const next = this.queue.shift();
    if (next === undefined) return;
    this.holders.add(next.holder);
    next.go();
    this.evict();
  }

  private evict(): void {
    while (this.unloading.size < this.queue.length) {
      const loaded = [...this.holders].filter((holder) => !this.unloading.has(holder));
      const [oldest] = loaded.sort((a, b) => Number(a.isBusy) - Number(b.isBusy) || a.usedAt - b.usedAt);
      if (oldest === undefined) return; // all are unloading; the rest of the queue waits for the next release
      this.unloading.add(oldest);
      void oldest.unload();
    }
  }
}
