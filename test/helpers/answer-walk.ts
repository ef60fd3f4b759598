// Random answers under a grammar: any token that the mask allows, and markup of the format once the answer is long, so that
// free text comes to its end.

import type { Matcher } from "../../src/worker/text/constraint-backend.ts";
import { allowedTokens, type TestVocabulary } from "./grammar.ts";

/** From so many steps on, an answer is brought to its end. */
const LONG = 30;
const TOO_LONG = 600;
const JSON_ENDS = ['"', "}", "]", "0", "true", "null", ",", '":'];

/** The literals of a parser's JSON, those that look like the end of something first. */
export function markupOf(peg: string): readonly string[] {
  const found = new Set<string>();
  for (const { literal } of (JSON.parse(peg) as { parsers: { literal?: string }[] }).parsers)
    if (literal !== undefined && literal !== "") found.add(literal);
  const isEnd = (text: string): boolean => /\/|end|End|END|\|>$|^[\])}]/.test(text);
  return [...found].sort((a, b) => Number(isEnd(b)) - Number(isEnd(a)));
}

/** The text of a random answer; undefined where it did not come to its end. Frees the matcher. */
export function walkAnswer(
  matcher: Matcher,
  vocabulary: TestVocabulary,
  markup: readonly string[],
  below: (n: number) => number,
): string | undefined {
  let here = matcher;
  const bytes: Uint8Array[] = [];
  const ends = [...markup, ...JSON_ENDS];
  try {
    for (let step = 0; step < TOO_LONG; step++) {
      here.computeMask();
      const allowed = allowedTokens(here.mask);
      const inside = allowed.filter((token) => ((vocabulary.flags[token] ?? 0) & 1) === 0);
      if (here.mayEnd() && (inside.length === 0 || step > LONG || below(3) === 0))
        return Buffer.concat(bytes).toString();
      if (step > LONG && inside.length > 1) {
        const piece = ends[step % ends.length] ?? "";
        const ahead = here.clone();
        if (ahead.feed(piece) !== "rejected") {
          here.free();
          here = ahead;
          bytes.push(Buffer.from(piece));
          continue;
        }
        ahead.free();
      }
      const token = inside[below(inside.length)];
      if (token === undefined || here.accept(token) === "rejected")
        throw new Error("the mask allows nothing that may follow");
      bytes.push(vocabulary.texts[token] ?? new Uint8Array());
    }
    return undefined;
  } finally {
    here.free();
  }
}
