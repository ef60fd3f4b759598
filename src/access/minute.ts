// What was counted in the last minute, in buckets of a second: in no 60 seconds more than a limit passes, and memory does not grow
// with what is counted.

const SECONDS = 60;
/** One more than a minute has, so that the oldest one may be passed in part. */
const BUCKETS = SECONDS + 1;

export class Minute {
  private readonly counts = new Float64Array(BUCKETS);
  private second = 0;
  private sum = 0;

  /** Counted now, at a time in milliseconds. */
  total(nowMs: number): number {
    this.pass(nowMs);
    return this.sum;
  }

  add(count: number, nowMs: number): void {
    this.pass(nowMs);
    const at = this.second % BUCKETS;
    this.counts[at] = (this.counts[at] ?? 0) + count;
    this.sum += count;
  }

  /** Seconds until at most that much is counted, if nothing comes. */
  secondsUntil(most: number, nowMs: number): number {
    this.pass(nowMs);
    let left = this.sum;
    for (let ago = BUCKETS - 1; ago >= 0 && left > most; ago--) {
      left -= this.counts[(this.second + BUCKETS - ago) % BUCKETS] ?? 0;
      if (left <= most) return Math.max(0, this.second - ago + BUCKETS - nowMs / 1000);
    }
    return 0;
  }

  private pass(nowMs: number): void {
    const second = Math.floor(nowMs / 1000);
    if (second <= this.second) return;
    const passed = Math.min(BUCKETS, second - this.second);
    for (let step = 1; step <= passed; step++) {
      const at = (this.second + step) % BUCKETS;
      this.sum -= this.counts[at] ?? 0;
      this.counts[at] = 0;
    }
    if (passed === BUCKETS) {
      this.counts.fill(0);
      this.sum = 0;
    }
    this.second = second;
  }
}
