// Control tokens of a model, which grammars must name by id because no text matches them.

import { readVocabulary } from "./grammar.ts";
import type { Markup } from "../../src/grammar/lark.ts";
import type { Native } from "../library.ts";
import type { Handle } from "../text.ts";

/** Reads a loaded model's control tokens. */
export function readMarkup(native: Native, model: Handle): Markup {
  const vocabulary = readVocabulary(native, model);
  const controls = new Map<string, number>();
  const endings = new Set<number>();
  vocabulary.flags.forEach((flag, token) => {
    if (flag === 0) return;
    const text = Buffer.from(vocabulary.bytes(token)).toString();
    if (text !== "" && !controls.has(text)) controls.set(text, token);
    if ((flag & 1) !== 0) endings.add(token);
  });
  return { controls, endings };
}
