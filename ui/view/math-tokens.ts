// Formula tokens for the Markdown parser: $$…$$ and \[…\] as blocks, \(…\) and $…$ inline. Pure. A formula contains no
// blank line, so that growing text never turns finished paragraphs into a formula.

import { Lexer, Marked, type Token, type TokenizerExtension, type TokensList } from "marked";
import { extraTokens, startOf } from "./extra-tokens.ts";

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
  start: startOf(NEXT_BLOCK),
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

/** Deepest nesting of quotes, lists and emphasis; what is deeper remains text. A browser's stack ends at some hundreds. */
const NEST_MAX = 24;

/** Longest paragraph whose emphasis and links are looked for, characters: the parser's time grows with its square. */
const INLINE_CHARS_MAX = 10_000;

/** A parser that is done soon with whatever a model repeats without end. */
class BoundedLexer extends Lexer {
  private depth = 0;

  override blockTokens(source: string, tokens?: Token[], isClipped?: boolean): Token[];
  override blockTokens(source: string, tokens: TokensList, isClipped?: boolean): TokensList;
  override blockTokens(source: string, tokens: Token[] = [], isClipped?: boolean): Token[] {
    return this.deeper(source, tokens, () => super.blockTokens(source, tokens, isClipped));
  }

  override inlineTokens(source: string, tokens: Token[] = []): Token[] {
    if (source.length > INLINE_CHARS_MAX) return plain(source, tokens);
    return this.deeper(source, tokens, () => super.inlineTokens(source, tokens));
  }

  private deeper(source: string, tokens: Token[], parse: () => Token[]): Token[] {
    if (this.depth === NEST_MAX) return plain(source, tokens);
    this.depth++;
    const found = parse();
    this.depth--;
    return found;
  }
}

function plain(source: string, tokens: Token[]): Token[] {
  tokens.push({ type: "text", raw: source, text: source, escaped: false });
  return tokens;
}

/** The blocks of a text. */
export function lexer(text: string): TokensList {
  return new BoundedLexer(marked.defaults).lex(text);
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
