// Splits pages into passages and ranks them for a query by BM25. Pure; also bundled into the web interface, for attached files.

import MiniSearch from "minisearch";
import { PASSAGE_CHARS_MAX } from "../core/limits.ts";
import { beginning } from "../core/shorten.ts";
import type { Passage, ReadHit } from "./protocol.ts";

/** Splits a text at paragraphs; paragraphs that are too long are split between sentences or words. */
export function passagesOf(text: string): readonly string[] {
  const passages: string[] = [];
  let passage = "";
  for (const piece of text.split(/\n{2,}/).flatMap(cutParagraph)) {
    if (passage !== "" && passage.length + piece.length + 2 > PASSAGE_CHARS_MAX) {
      passages.push(passage);
      passage = "";
    }
    passage += (passage === "" ? "" : "\n\n") + piece;
  }
  return passage.trim() === "" ? passages : [...passages, passage];
}

function cutParagraph(paragraph: string): readonly string[] {
  const pieces: string[] = [];
  let rest = paragraph.trim();
  while (rest.length > PASSAGE_CHARS_MAX) {
    const head = beginning(rest, PASSAGE_CHARS_MAX);
    const ends = [...head.matchAll(/[.!?]\s|[。！？\n]/g)].at(-1);
    const end = ends === undefined ? head.lastIndexOf(" ") : ends.index + ends[0].length;
    const at = end > PASSAGE_CHARS_MAX / 2 ? end : head.length;
    pieces.push(rest.slice(0, at).trim());
    rest = rest.slice(at).trim();
  }
  return rest === "" ? pieces : [...pieces, rest];
}

/**
 * Passages of all hits, ranked by BM25. Passages without a query word are dropped; with `hasOthers`, a page that has no others is
 * represented by its first passage, at the end.
 */
export function rankPassages(
  query: string,
  hits: readonly ReadHit[],
  { hasOthers = true } = {},
): readonly Passage[] {
  const passages = hits.flatMap(({ text }, hit) =>
    passagesOf(text).map((passage, index): Passage => ({ hit, index, text: passage })),
  );
  const search = new MiniSearch({ fields: ["text", "title"], tokenize: words });
  search.addAll(
    passages.map(({ hit, text }, id) => ({
      id,
      text,
      title: `${hits[hit]?.title} ${hits[hit]?.description}`,
    })),
  );
  const found = search.search(query, {
    boost: { title: 0.5 },
    prefix: (term) => term.length > 3, // "model" finds "models"
    tokenize: words,
  });
  const ranked = found.flatMap(({ id }) => passages[id as number] ?? []);
  if (!hasOthers) return ranked;
  const present = new Set(ranked.map(({ hit }) => hit));
  return [...ranked, ...passages.filter(({ hit, index }) => index === 0 && !present.has(hit))];
}

const SEGMENTER = new Intl.Segmenter(undefined, { granularity: "word" });
/** Scripts without spaces between words. */
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Khmer}\p{scx=Lao}\p{scx=Myanmar}]/u;

function words(text: string): string[] {
  const rough = text.toLowerCase().split(/[^\p{L}\p{N}\p{M}]+/u);
  return rough.flatMap((word) => {
    if (word === "") return [];
    return UNSPACED.test(word) ? Array.from(SEGMENTER.segment(word), ({ segment }) => segment) : [word];
  });
}
