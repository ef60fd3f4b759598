// Formula tokens for the Markdown parser: $$…$$ and \[…\] as blocks, \(…\) and $…$ inline. Pure. A formula contains no
// blank line, so that growing text never turns finished paragraphs into a formula.

import { Lexer, Marked, type TokenizerExtension, type TokensList } from "marked";
import { extraTokens } from "./extra-tokens.ts";

export interface MathToken {
  readonly type: "math";
  readonly raw: string;
  readonly formula: string;
  readonly isDisplay: boolean;
}

/** Longest formula; longer ones remain text. Also bounds the search for a closing delimiter. Characters. */
const CHARS_MAX = 4000;

const PAIRS = [
  ["$$", "$$", true],
  ["\\[", "\\]", true],
  ["\\(", "\\)", false],
] as const;

/** Single dollars: no inner space at the ends and no adjacent word, so that prices and $NAMES remain text. */
const DOLLARS = /^\$(?=\S)(?<formula>(?:\\[^]|[^$\\`])+)(?<!\s)\$(?![\p{L}\p{N}$])/u;
const BLANK_LINE = /\n[^\S\n]*\n/;
/** Possible start of an inline formula. */
const INLINE_START = /(?<![\p{L}\p{N}$\\])\$|\\[([]/u;
const BLOCK_START = /^ {0,3}(?:\$\$|\\\[)/;
const NEXT_BLOCK = /\n {0,3}(?:\$\$|\\\[)/;

/** A block formula. */
const block: TokenizerExtension = {
  name: "math",
  level: "block",
  start: (source) => NEXT_BLOCK.exec(source)?.index,
  tokenizer: (source) => {
    const indent = BLOCK_START.test(source) ? source.search(/\S/) : -1;
    const token = indent === -1 ? undefined : between(source.slice(indent));
    const after =
      token === undefined ? "" : /^[^\S\n]*(?:\n+|$)/.exec(source.slice(indent + token.raw.length))?.[0];
    if (token === undefined || after === undefined) return undefined;
    return { ...token, raw: source.slice(0, indent + token.raw.length) + after };
  },
};

/** An inline formula. */
const inline: TokenizerExtension = {
  name: "math",
  level: "inline",
  start: (source) => INLINE_START.exec(source)?.index,
  tokenizer: (source) => between(source) ?? betweenDollars(source),
};

const marked = new Marked({ extensions: [block, inline, ...extraTokens] });

/** The blocks of a text. */
export function lexer(text: string): TokensList {
  return new Lexer(marked.defaults).lex(text);
}

/** The formula at the start of a source, between paired delimiters. */
function between(source: string): MathToken | undefined {
  for (const [open, close, isDisplay] of PAIRS) {
    if (!source.startsWith(open)) continue;
    const end = source.slice(0, CHARS_MAX).indexOf(close, open.length);
    return end === -1
      ? undefined
      : mathToken(source.slice(0, end + close.length), source.slice(open.length, end), isDisplay);
  }
  return undefined;
}

function betweenDollars(source: string): MathToken | undefined {
  const found = DOLLARS.exec(source.slice(0, CHARS_MAX));
  return found === null ? undefined : mathToken(found[0], found.groups?.["formula"] ?? "", false);
}

function mathToken(raw: string, formula: string, isDisplay: boolean): MathToken | undefined {
  if (formula.trim() === "" || BLANK_LINE.test(formula)) return undefined;
  return { type: "math", raw, formula: formula.trim(), isDisplay };
}
