// Suggests a known name for an unknown one.

import { itemAt } from "../core/assert.ts";

/** The candidate closest to `word`, or undefined where none is close enough to be a slip of the fingers or its beginning. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const bound = Math.min(word.length - 1, Math.max(2, Math.floor(word.length / 3)));
  let best: string | undefined;
  let bestDistance = bound + 1;
  for (const candidate of candidates) {
    // Words differ at least by their difference in length.
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  const start = word.toLowerCase();
  if (best?.toLowerCase().startsWith(start) === true) return best;
  return candidates.find((candidate) => candidate.toLowerCase().startsWith(`${start}_`)) ?? best;
}

/** Letters to insert, delete or replace to get from one word to the other. */
export function editDistance(from: string, to: string): number {
  // One row of the classic table at a time: row[j] is the distance from the letters read so far to to[0..j).
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j++) {
      const replace = itemAt(row, j) + (from[i] === to[j] ? 0 : 1);
      next.push(Math.min(replace, itemAt(row, j + 1) + 1, itemAt(next, j) + 1));
    }
    row = next;
  }
  return itemAt(row, to.length);
}
