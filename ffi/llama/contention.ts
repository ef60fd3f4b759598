// Which compute threads wait for another program, and when to try their processors again.
// Untied threads are slower still: beside one busy process llama-server falls to 1 token/s.

/** Indexes of threads. */
export type Contention = readonly number[];

/** Less is passed over: the threads of a server and of its clients run now and then. */
const SHARE_MIN = 0.1;

/**
 * The threads to do without, of all that are tied to a processor: those that wait longest, as many as there are busy programs.
 * A program that shares a processor makes its thread wait for half of the time; one that moves between two, each for a quarter.
 * None if it would be more than half: then every thread has such a neighbour, and fewer threads gain nothing.
 */
export function busiest(shares: readonly number[]): Contention {
  const waiting = [...shares.keys()].filter((i) => (shares[i] ?? 0) >= SHARE_MIN);
  const sum = waiting.reduce((total, i) => total + (shares[i] ?? 0), 0);
  const count = Math.min(Math.round(2 * sum), waiting.length);
  if (count > shares.length / 2) return [];
  return waiting.toSorted((a, b) => (shares[b] ?? 0) - (shares[a] ?? 0)).slice(0, count);
}

const HOLD_MS_MIN = 1000;
const HOLD_MS_MAX = 32_000;
/** Leaving so soon after a return means that the return was too early. */
const EARLY_MS = 5000;

/** How long busy processors are left alone: longer after each return that was too early. */
export class ContentionHold {
  private holdMs = HOLD_MS_MIN;
  private leftAt = 0;
  private returnedAt = -Infinity;

  left(now: number): void {
    this.holdMs = now - this.returnedAt < EARLY_MS ? Math.min(2 * this.holdMs, HOLD_MS_MAX) : HOLD_MS_MIN;
    this.leftAt = now;
  }

  returned(now: number): void {
    this.returnedAt = now;
  }

  /** `isFree`: a processor was idle. Without it a return is tried at last, in case the system does not tell. */
  mayReturn(now: number, isFree: boolean): boolean {
    return now - this.leftAt >= (isFree ? this.holdMs : HOLD_MS_MAX);
  }
}
