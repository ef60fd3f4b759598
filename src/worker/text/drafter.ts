// How many next tokens of a sequence are worth guessing. A guess costs a row of the step and saves a whole step when it is
// right; how often it is right is learned from the sequence itself. Does not know who guesses.

/** Share of drafted tokens expected to be right at first, and how much one outcome counts. */
const HIT_SHARE_START = 0.5;
const HIT_WEIGHT = 0.15;

/** Where guessing does not pay, one token is guessed again after this many drawn ones, to learn whether it does now. */
const PROBE_TOKENS = 64;

export class Drafter {
  private hitShare = HIT_SHARE_START;
  private nextProbe = 0; // known tokens

  /** Tokens worth guessing. `price`: what computing a guess costs as a share of what it saves when it is right. */
  worth(price: number): number {
    if (price <= 0) return Number.POSITIVE_INFINITY;
    return Math.max(0, Math.floor(Math.log(price) / Math.log(this.hitShare)));
  }

  /** Tokens to guess after so many known ones: what is worth it, and now and then one that is not. */
  wanted(known: number, price: number): number {
    return Math.max(this.worth(price), known >= this.nextProbe ? 1 : 0);
  }

  /** There was a guess after so many known tokens. */
  guessed(known: number): void {
    this.nextProbe = known + PROBE_TOKENS;
  }

  /** So many tokens of a draft were right; unless all were, the one after them was wrong. */
  learn(right: number, all: boolean): void {
    for (let i = 0; i < right; i++) this.hitShare += HIT_WEIGHT * (0.99 - this.hitShare);
    if (!all) this.hitShare -= HIT_WEIGHT * this.hitShare;
  }
}
