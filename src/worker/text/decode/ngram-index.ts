// What followed the last few tokens of a sequence where they stood before: the drafts of prompt-lookup decoding (Saxena
// 2023). Answers that copy from their prompt, or repeat themselves, are guessed rightly for long stretches.

/** Tokens that must agree before what followed them once is expected to follow again. */
const NGRAM = 3;

const SIZE_MIN = 1024;

export class NgramIndex {
  /** Open hash of n-grams to the place of the token after their latest occurrence; 0 is none. A collision only forgets. */
  private places = new Int32Array(SIZE_MIN);
  /** Places up to here have been taken in. */
  private indexed = NGRAM - 1;

  /**
   * Up to `most` tokens that followed the last three before; empty if they stand there for the first time. `tokens` are the
   * sequence's, those of the last call at its beginning; what is below 0 is no token and never guessed.
   */
  continuation(tokens: Int32Array, most: number): Int32Array {
    this.takeIn(tokens);
    const end = tokens.length;
    const place = end < NGRAM ? 0 : (this.places[this.bucket(tokens, end)] ?? 0);
    if (place === 0 || !sameNgram(tokens, place, end)) return new Int32Array();
    const followed = tokens.slice(place, Math.min(end, place + most));
    const gap = followed.findIndex((token) => token < 0);
    return gap < 0 ? followed : followed.subarray(0, gap);
  }

  /** All places but the end itself, after which nothing is known to follow. */
  private takeIn(tokens: Int32Array): void {
    if (2 * tokens.length > this.places.length) {
      this.places = new Int32Array(2 ** Math.ceil(Math.log2(4 * tokens.length)));
      this.indexed = NGRAM - 1;
    }
    while (this.indexed + 1 < tokens.length) {
      this.indexed++;
      this.places[this.bucket(tokens, this.indexed)] = this.indexed;
    }
  }

  private bucket(tokens: Int32Array, place: number): number {
    let hash = 0;
    for (let i = place - NGRAM; i < place; i++) {
      hash = Math.imul(hash ^ (tokens[i] ?? 0), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    return hash & (this.places.length - 1);
  }
}

/** Whether the tokens before two places are the same. */
function sameNgram(tokens: Int32Array, one: number, other: number): boolean {
  for (let i = 1; i <= NGRAM; i++) if (tokens[one - i] !== tokens[other - i]) return false;
  return true;
}
