// What copies outside the KV cache cost, beside computing again what they hold.

/** Where restoring has been slower than computing, one of this many prompts tries it again. */
const RETRY_EVERY = 16;
/** Most that a copy from a device may take of the time that computing it does: not every copy is restored. */
export const COPY_SHARE = 0.25;
/** Where copies cost more, one of this number is made, to measure it again. */
export const COPY_RETRY_EVERY = 1024;
/** Weight of a new measurement. */
const COST_WEIGHT = 0.3;

/** Running average of milliseconds a token, or another unit. */
export class Cost {
  /** 0 while unknown. */
  tokenMs = 0;
  private tries = 0;
  private readonly retryEvery: number;

  constructor(retryEvery = RETRY_EVERY) {
    this.retryEvery = retryEvery;
  }

  add(ms: number, tokens: number): void {
    if (tokens === 0) return;
    this.tries = 0;
    const measured = ms / tokens;
    this.tokenMs = this.tokenMs === 0 ? measured : this.tokenMs + COST_WEIGHT * (measured - this.tokenMs);
  }

  /** Whether it is below another cost; sometimes true although it is not, to measure it again. Unknown is 0. */
  isBelow(otherMs: number): boolean {
    if (this.tokenMs === 0 || otherMs === 0 || this.tokenMs < otherMs) return true;
    return ++this.tries % this.retryEvery === 0;
  }
}
