// Drafts of one length, where those of a pass must be computed in its last part. Knows nothing of sequences.

import type { LevelLimits } from "../backend.ts";

/**
 * For each sequence how long its draft may be: one length, the one that yields most, or 0. `chances`: of each token of a draft, that it
 * and all before it are accepted.
 */
export function levelLengths(chances: readonly (readonly number[])[], limits: LevelLimits): number[] {
  const longest = Math.max(0, ...chances.map(({ length }) => length));
  let best: readonly Yield[] = [];
  for (let length = 1; length <= longest; length++) {
    const most = Math.min(limits.sequences, Math.floor(limits.rows / (1 + length)));
    const level = yieldsAt(chances, length).slice(0, most);
    if (sumOf(level) > sumOf(best)) best = level;
  }
  const lengths = chances.map(() => 0);
  for (const { index, length } of best) lengths[index] = length;
  return lengths;
}

/** What a draft of a sequence is expected to save. */
interface Yield {
  readonly index: number;
  readonly length: number;
  readonly tokens: number;
}

/** Of the drafts that are as long, the best first. */
function yieldsAt(chances: readonly (readonly number[])[], length: number): Yield[] {
  const yields = chances.map((own, index) => {
    const tokens = own.slice(0, length).reduce((sum, chance) => sum + chance, 0);
    return own.length < length ? undefined : { index, length, tokens };
  });
  return yields.filter((one) => one !== undefined).toSorted((a, b) => b.tokens - a.tokens);
}

function sumOf(yields: readonly Yield[]): number {
  return yields.reduce((sum, { tokens }) => sum + tokens, 0);
}
