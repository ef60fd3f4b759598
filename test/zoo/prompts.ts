// Prompts of the architecture suite: tokens of the built-in model's vocabulary, drawn by a seed.

import { wordSource } from "../../bench/random.ts";

/** Ordinary tokens; those behind them are control tokens. */
const ORDINARY = 2000;

/** `length` tokens; equal seeds give equal tokens, the shorter ones the beginning of the longer ones. */
function tokens(seed: number, length: number): number[] {
  const word = wordSource(seed);
  return Array.from({ length }, () => word() % ORDINARY);
}

/** A few tokens; more than a sliding window; several compute batches. */
export const ALONE: readonly (readonly number[])[] = [tokens(1, 5), tokens(2, 45), tokens(3, 150)];

/** Eight users: the first five share 40 tokens, two of them 56; the others share nothing. */
export const TOGETHER: readonly (readonly number[])[] = [
  ...[0, 1, 2].map((user) => [...tokens(4, 40), ...tokens(10 + user, 8 + 5 * user)]),
  ...[0, 1].map((user) => [...tokens(4, 40), ...tokens(13, 16), ...tokens(14 + user, 4 + user)]),
  ...[0, 1, 2].map((user) => tokens(20 + user, 7 + 20 * user)),
];

/** Text that repeats itself, so that next tokens can be guessed from it. */
export const REPEATING: readonly (readonly number[])[] = [0, 1].map((user) =>
  Array.from({ length: 4 }, () => tokens(30 + user, 12)).flat(),
);

/** What a user says next. */
export const NEXT: readonly number[] = tokens(40, 9);
