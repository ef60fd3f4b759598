// Bounds how many models are loaded at once. Whoever wants a place when all are taken waits in line, and for each one that
// waits the holder that was not used for longest is asked to leave.

/** A model as far as places are concerned. */
export interface Holder {
  /** Requests use it now. */
  readonly isBusy: boolean;
  /** When a request last ended, on any clock. */
  readonly usedAt: number;
  /** Leaves its place as soon as running requests have ended. */
  unload(): Promise<void>;
}

interface Waiting {
  readonly holder: Holder;
  readonly go: () => void;
}

export class Places {
  /** Models that may be loaded at once; Infinity where nothing was said. */
  readonly max: number;
  private readonly holders = new Set<Holder>();
  private readonly leaving = new Set<Holder>();
  private readonly line: Waiting[] = [];

  constructor(max: number = Infinity) {
    this.max = max;
  }

  /** Waits for a place. Rejects with the signal's reason when it is aborted; then there is nothing to give back. */
  async take(holder: Holder, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.holders.size < this.max) return void this.holders.add(holder);
    const turn = Promise.withResolvers<void>();
    const waiting: Waiting = { holder, go: turn.resolve };
    const abort = (): void => {
      const index = this.line.indexOf(waiting);
      if (index >= 0) this.line.splice(index, 1);
      turn.reject(signal.reason);
    };
    this.line.push(waiting);
    signal.addEventListener("abort", abort, { once: true });
    this.makeRoom();
    try {
      await turn.promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Gives a place back; the next in line has it at once. */
  release(holder: Holder): void {
    if (!this.holders.delete(holder)) return;
    this.leaving.delete(holder);
    const next = this.line.shift();
    if (next === undefined) return;
    this.holders.add(next.holder);
    next.go();
    this.makeRoom();
  }

  private makeRoom(): void {
    while (this.leaving.size < this.line.length) {
      const staying = [...this.holders].filter((holder) => !this.leaving.has(holder));
      const [longest] = staying.sort((a, b) => Number(a.isBusy) - Number(b.isBusy) || a.usedAt - b.usedAt);
      if (longest === undefined) return; // all are leaving; who is left in line waits for the next release
      this.leaving.add(longest);
      void longest.unload();
    }
  }
}
