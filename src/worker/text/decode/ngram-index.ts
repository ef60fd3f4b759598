// Index of a text of tokens, for prompt-lookup decoding (Saxena 2023): drafts what followed the last tokens where most of them occurred
// before, in a sequence itself or in another text. A hash chain over n-grams, as LZ77 compressors have it (RFC 1951, section 4): of
// real edits of files it finds as good drafts as a suffix automaton, in less time.
// Not llama.cpp's, which works on one context and one sequence at a time. Of other texts only those of the same partition are searched.

import { itemAt } from "../../../core/assert.ts";

/** Length of the n-grams, and the least agreement within a sequence. */
const NGRAM = 3;
/** Places that are compared, the latest first. */
const PLACES_MAX = 128;
/** Tokens that are compared: a longer agreement says no more. */
const AGREEING_MAX = 64;

const SIZE_MIN = 1024;

/** Tokens that may follow. */
export interface Continuation {
  readonly tokens: Int32Array;
  /** How many tokens agree before them, up to AGREEING_MAX. */
  readonly agreeing: number;
}

const NO_CONTINUATION: Continuation = { tokens: new Int32Array(), agreeing: 0 };

export class NgramIndex {
  /** Hash of n-grams to the position after their latest occurrence; 0: none. */
  private latest = new Int32Array(SIZE_MIN);
  /** [position] the one before in the same bucket. */
  private before = new Int32Array(SIZE_MIN);
  /** Positions up to here are indexed. */
  private indexed = NGRAM - 1;

  /**
   * Up to `max` tokens that followed the last ones of a sequence where most of them agree, at the latest such place of `text`: the
   * sequence's own tokens, of which those of the last call are a prefix, or another text, which does not change. What runs into the
   * sequence's end is repeated from there. Negative placeholders of media are never drafted.
   */
  continuation(sequence: Int32Array, max: number, text = sequence): Continuation {
    this.index(text);
    const { at, agreeing } = this.longest(sequence, text);
    if (agreeing < NGRAM) return NO_CONTINUATION;
    const isOwn = sequence === text;
    const tokens = new Int32Array(isOwn ? max : Math.min(max, text.length - at));
    let count = 0;
    while (count < tokens.length) {
      const from = at + count;
      const token = from < text.length ? itemAt(text, from) : itemAt(tokens, from - text.length);
      if (token < 0) break;
      tokens[count++] = token;
    }
    return { tokens: tokens.subarray(0, count), agreeing };
  }

  private longest(
    sequence: Int32Array,
    text: Int32Array,
  ): { readonly at: number; readonly agreeing: number } {
    const end = sequence.length;
    let best = { at: 0, agreeing: 0 };
    let place = end < NGRAM ? 0 : (this.latest[this.bucket(sequence, end)] ?? 0);
    for (let looks = 0; place > 0 && looks < PLACES_MAX && best.agreeing < AGREEING_MAX; looks++) {
      const agreeing = agreement(sequence, text, place);
      if (agreeing > best.agreeing) best = { at: place, agreeing };
      place = itemAt(this.before, place);
    }
    return best;
  }

  /** Indexes all positions except the end. */
  private index(tokens: Int32Array): void {
    if (2 * tokens.length > this.latest.length) {
      const size = 2 ** Math.ceil(Math.log2(4 * tokens.length));
      this.latest = new Int32Array(size);
      this.before = new Int32Array(size / 2);
      this.indexed = NGRAM - 1;
    }
    while (this.indexed + 1 < tokens.length) {
      this.indexed++;
      const bucket = this.bucket(tokens, this.indexed);
      this.before[this.indexed] = itemAt(this.latest, bucket);
      this.latest[bucket] = this.indexed;
    }
  }

  private bucket(tokens: Int32Array, position: number): number {
    let hash = 0;
    for (let i = position - NGRAM; i < position; i++) {
      hash = Math.imul(hash ^ itemAt(tokens, i), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    return hash & (this.latest.length - 1);
  }
}

/** How many tokens before `place` of a text are the last ones of a sequence. */
function agreement(sequence: Int32Array, text: Int32Array, place: number): number {
  const max = Math.min(AGREEING_MAX, place, sequence.length);
  let count = 0;
  while (count < max && text[place - 1 - count] === sequence[sequence.length - 1 - count]) count++;
  return count;
}
