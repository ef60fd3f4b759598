// Makes what was found fit its budget. Lengths are counted in characters first; the model's own count of the tokens then
// says how far that was off.

import { RESULT_PIECE_CHARS_MIN, SEARCH_FITS_MAX } from "./limits.ts";
import type { Passage, ReadHit } from "../reader/protocol.ts";
import type { TextBudget, WebResult } from "./types.ts";

/** A first guess that suits English prose. */
const CHARS_PER_TOKEN = 4;
/** What a second guess leaves free, since characters of one text are not equally dear. */
const CAUTION = 0.95;
const GAP = "\n\n[…]\n\n";

/** Results of the best passages that fit. Pages stand in the order of their best passage. */
export function fitResults(
  hits: readonly ReadHit[],
  passages: readonly Passage[],
  budget: TextBudget,
): Promise<readonly WebResult[]> {
  return fit((charsMax) => compose(hits, passages, charsMax), budget);
}

/** The beginning of a text that fits. */
export function fitText(text: string, budget: TextBudget): Promise<string> {
  return fit((charsMax) => cut(text, charsMax), budget);
}

async function fit<T>(make: (charsMax: number) => T, { tokensMax, count }: TextBudget): Promise<T> {
  let charsMax = tokensMax * CHARS_PER_TOKEN;
  for (let guess = 0; guess < SEARCH_FITS_MAX; guess++) {
    const made = make(charsMax);
    const text = JSON.stringify(made);
    const tokens = await count(text);
    if (tokens <= tokensMax) return made;
    charsMax = Math.floor(Math.min(charsMax, text.length) * (tokensMax / tokens) * CAUTION);
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
    const room = left - (of === undefined ? headChars(hits[passage.hit]) : GAP.length);
    const text = passage.text.length <= room ? passage.text : cut(passage.text, room);
    if (room < 0 || text.length < Math.min(passage.text.length, RESULT_PIECE_CHARS_MIN)) continue;
    taken.set(passage.hit, [...(of ?? []), { ...passage, text }]);
    left = room - text.length;
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

/** The beginning of a text, with a sign that it goes on. */
function cut(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  // Half a surrogate pair is no character.
  const head = text.slice(0, Math.max(0, charsMax - 2)).replace(/[\uD800-\uDBFF]$/, "");
  return head === "" ? "" : `${head} …`;
}
