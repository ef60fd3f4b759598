// Sets of tokens as bits: bit t % 32 of word t / 32 is set where token t is in it.

import { itemAt } from "./assert.ts";

export function hasToken(words: Uint32Array, token: number): boolean {
  return token >= 0 && ((itemAt(words, token >> 5) >> (token & 31)) & 1) === 1;
}

export function addToken(words: Uint32Array, token: number): void {
  const word = token >> 5;
  words[word] = itemAt(words, word) | (1 << (token & 31));
}

export function removeToken(words: Uint32Array, token: number): void {
  const word = token >> 5;
  words[word] = itemAt(words, word) & ~(1 << (token & 31));
}

/** How many tokens are in it. `every`: of each n-th word alone. */
export function countTokens(words: Uint32Array, every = 1): number {
  let bits = 0;
  for (let at = 0; at < words.length; at += every) {
    let word = words[at] ?? 0;
    word -= (word >>> 1) & 0x55555555;
    word = (word & 0x33333333) + ((word >>> 2) & 0x33333333);
    bits += Math.imul((word + (word >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  }
  return bits;
}

/** Its first tokens, in ascending order, at most `most`. */
export function firstTokens(words: Uint32Array, most: number): number[] {
  const tokens: number[] = [];
  for (let word = 0; word < words.length && tokens.length < most; word++)
    for (let rest = words[word] ?? 0; rest !== 0 && tokens.length < most; rest &= rest - 1)
      tokens.push(32 * word + 31 - Math.clz32(rest & -rest));
  return tokens;
}
