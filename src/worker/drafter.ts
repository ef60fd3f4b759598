// Guesses the next tokens of a sequence, as many as are worth computing. A guess costs a row of the step and saves a whole
// step when it is right; how often it is right is learned from the sequence itself.

import { NgramIndex } from "./ngram-index.ts";

/** Tokens of one draft. */
const DRAFT_MAX = 12;

/** Share of drafted tokens expected to be right at first, and how much one outcome counts. */
const HIT_SHARE_START = 0.5;
const HIT_WEIGHT = 0.15;

/** Where guessing does not pay, one token is guessed again after this many drawn ones, to learn whether it does now. */
const PROBE_TOKENS = 64;

export class Drafter {
  private readonly index = new NgramIndex();
  private hitShare = HIT_SHARE_START;
  private nextProbe = 0; // known tokens

  /**
   * Tokens that may follow `tokens`, at most `most`. `price`: what computing a guess costs as a share of what it saves when
   * it is right.
   */
  draft(tokens: Int32Array, most: number, price: number): Int32Array {
    const worth = price <= 0 ? DRAFT_MAX : Math.floor(Math.log(price) / Math.log(this.hitShare));
    const count = Math.min(most, DRAFT_MAX, Math.max(worth, tokens.length >= this.nextProbe ? 1 : 0));
    if (count <= 0) return new Int32Array();
    const draft = this.index.continuation(tokens, count);
    if (draft.length > 0) this.nextProbe = tokens.length + PROBE_TOKENS;
    return draft;
  }

  /** So many tokens of a draft were right; unless all were, the one after them was wrong. */
  learn(right: number, all: boolean): void {
    for (let i = 0; i < right; i++) this.hitShare += HIT_WEIGHT * (0.99 - this.hitShare);
    if (!all) this.hitShare -= HIT_WEIGHT * this.hitShare;
  }
}
