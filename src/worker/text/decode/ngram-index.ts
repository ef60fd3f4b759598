// N-gram index of a sequence, for prompt-lookup decoding (Saxena 2023): drafts the tokens that followed the last n-gram
// where it occurred before. Drafts of answers that copy from their prompt or repeat themselves are accepted often.

import { itemAt } from "../../../core/assert.ts";

/** Length of the n-grams. */
const NGRAM = 3;

const SIZE_MIN = 1024;

export class NgramIndex {
  /** Hash of n-grams to the position after their latest occurrence; 0: none. A collision overwrites. */
  private positions = new Int32Array(SIZE_MIN);
  /** Positions up to here are indexed. */
  private indexed = NGRAM - 1;

  /**
   * Up to `max` tokens that followed the last n-gram before; empty if it is new. `tokens`: the sequence's, of which those of
   * the last call are a prefix. Negative placeholders of media are never drafted.
   */
  continuation(tokens: Int32Array, max: number): Int32Array {
    this.index(tokens);
    const end = tokens.length;
    const position = end < NGRAM ? 0 : (this.positions[this.bucket(tokens, end)] ?? 0);
    if (position === 0 || !sameNgram(tokens, position, end)) return new Int32Array();
    const followed = tokens.slice(position, Math.min(end, position + max));
    const gap = followed.findIndex((token) => token < 0);
    return gap < 0 ? followed : followed.subarray(0, gap);
  }

  /** Indexes all positions except the end. */
  private index(tokens: Int32Array): void {
    if (2 * tokens.length > this.positions.length) {
      this.positions = new Int32Array(2 ** Math.ceil(Math.log2(4 * tokens.length)));
      this.indexed = NGRAM - 1;
    }
    while (this.indexed + 1 < tokens.length) {
      this.indexed++;
      this.positions[this.bucket(tokens, this.indexed)] = this.indexed;
    }
  }

  private bucket(tokens: Int32Array, position: number): number {
    let hash = 0;
    for (let i = position - NGRAM; i < position; i++) {
      hash = Math.imul(hash ^ itemAt(tokens, i), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    return hash & (this.positions.length - 1);
  }
}

/** Whether the n-grams before two positions are equal. */
function sameNgram(tokens: Int32Array, one: number, other: number): boolean {
  for (let i = 1; i <= NGRAM; i++) if (tokens[one - i] !== tokens[other - i]) return false;
  return true;
}
