// Cuts search results to the token budget: estimates by characters, counts tokens with the model, corrects the estimate.
// BM25 over passages of all pages: whole pages, best first, let one long page use up the budget. No stemming, which ties search to
// English.

import { beginning } from "../core/shorten.ts";
import { RESULT_PIECE_CHARS_MIN, SEARCH_FITS_MAX } from "./limits.ts";
import type { Passage, ReadHit } from "../reader/protocol.ts";
import type { TextBudget, WebResult } from "./types.ts";

/** First estimate; typical of English prose. */
const CHARS_PER_TOKEN = 4;
/** Safety factor of later estimates: tokens per character vary within a text. */
const SAFETY_FACTOR = 0.95;
const GAP = "\n\n[…]\n\n";

/** Results with the best passages that fit, pages ordered by their best passage. */
export function fitResults(
  hits: readonly ReadHit[],
  passages: readonly Passage[],
  budget: TextBudget,
): Promise<readonly WebResult[]> {
  return fit((charsMax) => compose(hits, passages, charsMax), budget);
}

/** Longest prefix of a text that fits. */
export function fitText(text: string, budget: TextBudget): Promise<string> {
  return fit((charsMax) => cut(text, charsMax), budget);
}

async function fit<T>(make: (charsMax: number) => T, { tokensMax, count }: TextBudget): Promise<T> {
  let charsMax = tokensMax * CHARS_PER_TOKEN;
  for (let attempt = 0; attempt < SEARCH_FITS_MAX; attempt++) {
    const made = make(charsMax);
    const text = JSON.stringify(made);
    const tokens = await count(text);
    if (tokens <= tokensMax) return made;
    charsMax = Math.floor(Math.min(charsMax, text.length) * (tokensMax / tokens) * SAFETY_FACTOR);
  }
  return make(Math.floor(charsMax / 2));
}

function compose(
  hits: readonly ReadHit[],
  passages: readonly Passage[],
  charsMax: number,
): readonly WebResult[] {
  const taken = new Map<number, Passage[]>();
  let left = charsMax;
  for (const passage of passages) {
    const of = taken.get(passage.hit);
    const charsLeft = left - (of === undefined ? headChars(hits[passage.hit]) : GAP.length);
    const text = passage.text.length <= charsLeft ? passage.text : cut(passage.text, charsLeft);
    if (charsLeft < 0 || text.length < Math.min(passage.text.length, RESULT_PIECE_CHARS_MIN)) continue;
    taken.set(passage.hit, [...(of ?? []), { ...passage, text }]);
    left = charsLeft - text.length;
  }
  hits.forEach((hit, index) => {
    if (taken.has(index) || headChars(hit) > left) return;
    taken.set(index, []);
    left -= headChars(hit);
  });
  return [...taken].flatMap(([index, own]) => {
    const hit = hits[index];
    return hit === undefined ? [] : [resultOf(hit, own)];
  });
}

/** Characters of a result without its content. */
function headChars(hit: ReadHit | undefined): number {
  const { title, description, url } = hit ?? { title: "", description: "", url: "" };
  return JSON.stringify({ title, description, url, content: "" }).length;
}

function resultOf({ title, description, url }: ReadHit, passages: readonly Passage[]): WebResult {
  const inOrder = passages.toSorted((a, b) => a.index - b.index);
  const content = inOrder.map(({ text, index }, place) => {
    const before = inOrder[place - 1];
    if (before === undefined) return text;
    return (before.index + 1 === index ? "\n\n" : GAP) + text;
  });
  return { title, description, url, content: content.join("") };
}

/** Prefix of a text, with an ellipsis. */
function cut(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const head = beginning(text, Math.max(0, charsMax - 2));
  return head === "" ? "" : `${head} …`;
}
