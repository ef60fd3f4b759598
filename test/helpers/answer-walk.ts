// Random answers under a grammar: any token that the mask allows, and once the answer is long the way to its end.

import type { Matcher } from "../../src/worker/text/constraint-backend.ts";
import { allowedTokens, type TestVocabulary } from "./grammar.ts";

/** From so many steps on, an answer is brought to its end. */
const LONG = 30;

/** The text of a random answer; undefined where no end was found. Frees the matcher. */
export function walkAnswer(
  matcher: Matcher,
  vocabulary: TestVocabulary,
  below: (n: number) => number,
): string | undefined {
  const bytes: Uint8Array[] = [];
  const isEnding = (token: number): boolean => ((vocabulary.flags[token] ?? 0) & 1) !== 0;
  const take = (token: number | undefined): void => {
    if (token === undefined || matcher.accept(token) === "rejected")
      throw new Error("the mask allows nothing that may follow");
    if (!isEnding(token)) bytes.push(vocabulary.texts[token] ?? new Uint8Array());
  };
  try {
    const length = below(LONG);
    for (let step = 0; step < length; step++) {
      matcher.computeMask();
      const inside = allowedTokens(matcher.mask.words).filter((token) => !isEnding(token));
      if (matcher.mayEnd() && (inside.length === 0 || below(3) === 0)) return Buffer.concat(bytes).toString();
      take(inside[below(inside.length)]);
    }
    const way = matcher.closing();
    for (const { token } of way ?? []) take(token);
    return way === undefined ? undefined : Buffer.concat(bytes).toString();
  } finally {
    matcher.free();
  }
}
