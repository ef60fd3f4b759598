// Splits a text into pieces that are synthesized one by one: sentences, because a voice gives each its intonation.
// Rejected: flite's streaming within a sentence, a callback through the C boundary for 30 to 100 ms.

import { SPEECH_FIRST_PIECE_CHARS, SPEECH_PIECE_CHARS_MAX } from "../shared/limits.ts";

const SENTENCES = new Intl.Segmenter("en", { granularity: "sentence" });
/** Abbreviations after which Unicode's rules wrongly end a sentence: initials, titles. */
const ABBREVIATION = /(?:^|[\s(])(?:\p{Lu}|Dr|Mrs?|Ms|Prof|Sr|Jr|St|Mt|Gen|Capt|Lt|Col|Rev|vs|[Ff]ig|No)\.$/u;
/** A line break within a paragraph, unless a list item follows. */
const WRAP = /(?<!\n)\n(?!\n|(?:[-*+•]|\d+[.)]) )/g;
/** The end of a clause. */
const CLAUSE = /[,;:)] | -+ /g;

/** The pieces, none longer than SPEECH_PIECE_CHARS_MAX. The first one is short where possible, for a short time to first audio. */
export function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  for (const sentence of sentencesOf(text)) {
    let rest = sentence;
    if (pieces.length === 0) {
      const end = clauseEnd(rest, SPEECH_FIRST_PIECE_CHARS);
      if (end !== undefined && rest.length > SPEECH_FIRST_PIECE_CHARS) {
        pieces.push(rest.slice(0, end).trim());
        rest = rest.slice(end).trim();
      }
    }
    while (rest.length > SPEECH_PIECE_CHARS_MAX) {
      const end = clauseEnd(rest, SPEECH_PIECE_CHARS_MAX) ?? wordEnd(rest);
      pieces.push(rest.slice(0, end).trim());
      rest = rest.slice(end).trim();
    }
    if (rest !== "") pieces.push(rest);
  }
  return pieces;
}

function sentencesOf(text: string): readonly string[] {
  const sentences: string[] = [];
  const lines = text
    .replace(/[^\S\n]+/g, " ")
    .replace(/ ?\n ?/g, "\n")
    .replace(WRAP, " ");
  let begun = "";
  for (const { segment } of SENTENCES.segment(lines)) {
    begun += segment;
    const goesOn = ABBREVIATION.test(segment.trimEnd()) && !segment.endsWith("\n");
    if (goesOn && begun.length < SPEECH_PIECE_CHARS_MAX) continue;
    sentences.push(begun.trim());
    begun = "";
  }
  return [...sentences, begun.trim()].filter((sentence) => sentence !== "");
}

/** End of the last clause within the first `max` characters. */
function clauseEnd(text: string, max: number): number | undefined {
  const last = [...text.slice(0, max).matchAll(CLAUSE)].at(-1);
  return last === undefined ? undefined : last.index + last[0].length;
}

/** End of the last word that fits a piece; within the word where it is longer than a piece. */
function wordEnd(text: string): number {
  const space = text.lastIndexOf(" ", SPEECH_PIECE_CHARS_MAX);
  if (space > 0) return space;
  const code = text.charCodeAt(SPEECH_PIECE_CHARS_MAX - 1);
  const splitsPair = code >= 0xd800 && code < 0xdc00;
  return splitsPair ? SPEECH_PIECE_CHARS_MAX - 1 : SPEECH_PIECE_CHARS_MAX;
}
