// N-gram index of a text of tokens, for prompt-lookup decoding (Saxena 2023): drafts the tokens that followed the last n-gram
// where it occurred before, in a sequence itself or in another text. Drafts of answers that copy are accepted often.
// Not llama.cpp's, which works on one context and one sequence at a time. Of other texts only those of the same partition are searched.

import { itemAt } from "../../../core/assert.ts";

/** Length of the n-grams. */
const NGRAM = 3;
/** Tokens that must agree with another text: what follows three of them says less there than in the sequence itself. */
const AGREEING = 8;

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
    return this.after(tokens, tokens, { agreeing: NGRAM, max });
  }

  /** Up to `max` tokens that follow the last tokens of a sequence in the indexed text `text`, which does not change. */
  continuationOf(sequence: Int32Array, text: Int32Array, max: number): Int32Array {
    return this.after(sequence, text, { agreeing: AGREEING, max });
  }

  private after(
    sequence: Int32Array,
    text: Int32Array,
    { agreeing, max }: { readonly agreeing: number; readonly max: number },
  ): Int32Array {
    this.index(text);
    const end = sequence.length;
    const position = end < agreeing ? 0 : (this.positions[this.bucket(sequence, end)] ?? 0);
    if (position < agreeing || !agree(sequence, text.subarray(0, position), agreeing))
      return new Int32Array();
    const followed = text.slice(position, Math.min(text.length, position + max));
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

/** Whether two texts end with the same `count` tokens. */
function agree(one: Int32Array, other: Int32Array, count: number): boolean {
  for (let i = 1; i <= count; i++) if (one[one.length - i] !== other[other.length - i]) return false;
  return true;
}
