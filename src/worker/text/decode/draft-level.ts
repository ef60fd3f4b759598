// Drafts of one length, where those of a pass must be computed in its last part. Parts read all weights each. Knows nothing of sequences.

import type { LevelLimits } from "../backend.ts";

export interface Level {
  /** For each sequence, tokens of its draft: one length or fewer; where that is not `filled`, one length or none. */
  readonly lengths: readonly number[];
  /** Rows of each sequence's draft if all sequences get as many, shorter drafts with fillers, so that one part computes them; else 0. */
  readonly filled: number;
}

/** What a level is chosen by. */
export interface LevelCosts extends LevelLimits {
  /** Rows of a pass with fillers. */
  readonly filledRows: number;
  /** Milliseconds that a part takes whatever its rows, and those of a row. */
  readonly partMs: number;
  readonly rowMs: number;
}

/**
 * The drafts that yield most for their time. `chances`: of each token of a sequence's draft, that it and all before it are accepted.
 */
export function bestLevel(chances: readonly (readonly number[])[], costs: LevelCosts): Level {
  const longest = Math.max(0, ...chances.map(({ length }) => length));
  const levels = Array.from({ length: longest }, (_, i) => i + 1).flatMap((length) =>
    [splitAt(chances, length, costs), filledAt(chances, length, costs)].filter((one) => one !== undefined),
  );
  const yields = levels.map((level) => yieldOf(chances, level, costs));
  const best = levels[yields.indexOf(Math.max(...yields))];
  return best ?? { lengths: chances.map(() => 0), filled: 0 };
}

function splitAt(chances: readonly (readonly number[])[], length: number, limits: LevelLimits): Level {
  const most = Math.min(limits.sequences, Math.floor(limits.rows / (1 + length)));
  const long = chances.flatMap((own, index) =>
    own.length < length ? [] : { index, tokens: sumOf(own, length) },
  );
  const chosen = new Set(
    long
      .toSorted((a, b) => b.tokens - a.tokens)
      .slice(0, most)
      .map(({ index }) => index),
  );
  return { lengths: chances.map((_, index) => (chosen.has(index) ? length : 0)), filled: 0 };
}

function filledAt(
  chances: readonly (readonly number[])[],
  filled: number,
  costs: LevelCosts,
): Level | undefined {
  const fits = chances.length * (1 + filled) <= Math.min(costs.rows, costs.filledRows);
  if (!fits || chances.length > costs.sequences) return undefined;
  return { lengths: chances.map(({ length }) => Math.min(length, filled)), filled };
}

/** Tokens a millisecond. */
function yieldOf(
  chances: readonly (readonly number[])[],
  { lengths, filled }: Level,
  costs: LevelCosts,
): number {
  const tokens = chances.reduce((sum, own, i) => sum + 1 + sumOf(own, lengths[i] ?? 0), 0);
  const drafted = lengths.reduce((sum, length) => sum + Math.max(filled, length), 0);
  const parts = filled > 0 || !lengths.includes(0) ? 1 : 2;
  return tokens / (parts * costs.partMs + (chances.length + drafted) * costs.rowMs);
}

function sumOf(chances: readonly number[], length: number): number {
  return chances.slice(0, length).reduce((sum, chance) => sum + chance, 0);
}
