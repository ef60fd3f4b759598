// Tokens of Markdown as GitHub has it and the parser lacks: footnotes and <details>. Pure. The package marked-footnote keeps its state
// between texts and makes HTML strings, which this page never shows.

import type { Token, TokenizerExtension } from "marked";

export interface FootnoteRef {
  readonly type: "footnoteRef";
  readonly raw: string;
  readonly label: string;
}

export interface Footnote {
  readonly type: "footnote";
  readonly raw: string;
  readonly label: string;
  readonly tokens: Token[];
}

export interface Details {
  readonly type: "details";
  readonly raw: string;
  readonly summary: string;
  readonly isOpen: boolean;
  readonly tokens: Token[];
}

const LABEL = String.raw`\[\^(?<label>[^\]\s[]{1,64})\]`;
const REF = new RegExp(`^${LABEL}(?!:)`);
/** Its text goes on in indented lines. */
const FOOTNOTE = new RegExp(
  `^ {0,3}${LABEL}:[^\\S\\n]*(?<text>[^\\n]*(?:\\n(?: {2,}|\\t)[^\\n]+)*)(?:\\n+|$)`,
);
const NEXT_FOOTNOTE = new RegExp(`\\n {0,3}${LABEL}:`);

const OPEN = /^ {0,3}<details(?<attributes>[^<>]*)>/i;
const TAG = /<(?<end>\/?)details\b[^<>]*>/gi;
const SUMMARY = /^\s*<summary[^<>]*>(?<text>[^]*?)<\/summary>/i;
const NEST_MAX = 16;

/** Where a block first starts within a paragraph. Only its text is searched: for each of many, the rest of a long answer takes seconds. */
export function startOf(block: RegExp): (source: string) => number | undefined {
  return (source) => {
    const end = source.indexOf("\n\n");
    return block.exec(end === -1 ? source : source.slice(0, end))?.index;
  };
}

const footnoteRef: TokenizerExtension = {
  name: "footnoteRef",
  level: "inline",
  start: (source) => {
    const at = source.indexOf("[^");
    return at < 0 ? undefined : at;
  },
  tokenizer: (source) => {
    const found = REF.exec(source);
    return found === null
      ? undefined
      : { type: "footnoteRef", raw: found[0], label: found.groups?.["label"] ?? "" };
  },
};

const footnote: TokenizerExtension = {
  name: "footnote",
  level: "block",
  start: startOf(NEXT_FOOTNOTE),
  tokenizer(source) {
    const found = FOOTNOTE.exec(source);
    if (found === null) return undefined;
    const { label = "", text = "" } = found.groups ?? {};
    const tokens = this.lexer.inlineTokens(text.replaceAll(/\n\s+/g, " "));
    return { type: "footnote", raw: found[0], label, tokens };
  },
};

/** Without an end it goes to the end of the text, so that growing text changes no finished block. */
const details: TokenizerExtension = {
  name: "details",
  level: "block",
  start: startOf(/\n {0,3}<details[\s>]/i),
  tokenizer(source) {
    const open = OPEN.exec(source);
    const end = open === null ? undefined : endOf(source);
    if (open === null || end === undefined) return undefined;
    const inner = source.slice(open[0].length, end.from);
    const summary = SUMMARY.exec(inner);
    const raw = source.slice(0, end.to);
    const rest = /^[^\S\n]*(?:\n+|$)/.exec(source.slice(end.to))?.[0] ?? "";
    return {
      type: "details",
      raw: raw + rest,
      summary: (summary?.groups?.["text"] ?? "").replaceAll(/<[^<>]*>/g, "").trim(),
      isOpen: /\bopen\b/i.test(open.groups?.["attributes"] ?? ""),
      tokens: this.lexer.blockTokens(inner.slice(summary?.[0].length ?? 0).replace(/^\n+/, "")),
    };
  },
};

/** Where the first element ends; undefined where elements are nested too deep. */
function endOf(source: string): { readonly from: number; readonly to: number } | undefined {
  let depth = 0;
  for (const tag of source.matchAll(TAG)) {
    depth += tag.groups?.["end"] === "/" ? -1 : 1;
    if (depth > NEST_MAX) return undefined;
    if (depth === 0) return { from: tag.index, to: tag.index + tag[0].length };
  }
  return { from: source.length, to: source.length };
}

/** Extensions of the parser. */
export const extraTokens: readonly TokenizerExtension[] = [footnoteRef, footnote, details];
