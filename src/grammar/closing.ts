// The way from a place in a grammar to the end of the answer: few tokens that say as little as they can. A search, since llguidance tells
// which tokens may come next, and not how far the end is: closing brackets and quotes first, then what the grammar leaves no choice of, and
// within free text the tags that end it.

import { countTokens, firstTokens, hasToken } from "../core/token-mask.ts";
import type { Closing, Matcher } from "../worker/text/constraint-backend.ts";

/** A vocabulary's tokens by their bytes. */
export interface TokenBytes {
  /** Bytes of all tokens end to end, and of each its length. */
  readonly bytes: Uint8Array;
  readonly lengths: Int32Array;
  /** Bit 0 ends generation. */
  readonly flags: Uint8Array;
}

/** Steps of a search. */
const STEPS_MAX = 1024;
/** Tokens that are looked at where the grammar allows many. */
const LOOKED_AT = 4096;
const QUOTE = '"';
/** Those that close something, in the order in which they are tried. */
const BRACKETS = ["}", "]", ")", QUOTE];
/** Letters that may all come next within a value only. */
const LETTERS = ["q", "x", "z"];
/** What patterns of values may need between letters: addresses, hosts, paths. */
const SIGNS = ["@", ":", "/", ".", "-"];

/** Finds ends in one vocabulary. */
export class Closer {
  private readonly size: number;
  private readonly tokens: TokenBytes;
  private readonly starts: Int32Array;
  private readonly enders: readonly number[];
  private readonly spelled = new Map<string, readonly number[]>();

  constructor(tokens: TokenBytes) {
    this.tokens = tokens;
    this.size = tokens.lengths.length;
    this.starts = new Int32Array(this.size);
    for (let token = 1; token < this.size; token++)
      this.starts[token] = (this.starts[token - 1] ?? 0) + (tokens.lengths[token - 1] ?? 0);
    this.enders = [...tokens.flags.keys()].filter((token) => ((tokens.flags[token] ?? 0) & 1) !== 0);
  }

  /** `tags`: ends of free text besides quotes. Undefined: no end was found. Throws like `accept`. */
  find(from: Matcher, tags: readonly string[]): Closing | undefined {
    const here = from.clone();
    const path: { token: number; texts: number }[] = []; // texts: before the token
    let texts = 0;
    try {
      while (path.length < STEPS_MAX) {
        here.computeMask();
        const end = this.enders.find((token) => hasToken(here.mask.words, token));
        if (end !== undefined)
          return [...path, { token: end, texts }].map((step) => ({ ...step, texts: texts - step.texts }));
        const isText = 2 * countTokens(here.mask.words) > this.size;
        const exit = isText ? this.exit(here, [...tags, QUOTE]) : undefined;
        const next = exit ?? this.step(here.mask.words, this.textOf(path.at(-1)?.token));
        if (next.length === 0) return undefined;
        for (const token of next) if (here.accept(token) === "rejected") return undefined;
        path.push(...next.map((token) => ({ token, texts })));
        if (exit !== undefined) texts++;
      }
      return undefined;
    } finally {
      here.free();
    }
  }

  /** The tokens of the tag after which least may follow: that of the text. */
  private exit(from: Matcher, tags: readonly string[]): readonly number[] | undefined {
    const exits = tags
      .map((tag) => this.spell(tag))
      .map((tokens) => ({ tokens, left: this.after(from, tokens) }));
    const [best] = exits.filter(({ left }) => 2 * left <= this.size).sort((a, b) => a.left - b.left);
    return best?.tokens;
  }

  /** How many tokens may follow some; Infinity where these may not come. */
  private after(from: Matcher, tokens: readonly number[]): number {
    const ahead = from.clone();
    try {
      if (tokens.length === 0 || tokens.some((token) => ahead.accept(token) === "rejected")) return Infinity;
      ahead.computeMask();
      return countTokens(ahead.mask.words);
    } finally {
      ahead.free();
    }
  }

  /** Outside of free text. `last`: the token before. */
  private step(mask: Uint32Array, last: string): readonly number[] {
    const first = (texts: readonly string[]): readonly number[] | undefined =>
      texts
        .map((text) => this.spell(text))
        .find(([token, ...more]) => token !== undefined && more.length === 0 && hasToken(mask, token));
    const isValue = LETTERS.every((letter) => first([letter]) !== undefined);
    const closing = isValue ? first([QUOTE]) : first(BRACKETS);
    const sign = isValue && /\w/.test(last) ? first(SIGNS) : undefined;
    return closing ?? sign ?? this.plainest(mask, last);
  }

  private plainest(mask: Uint32Array, last: string): readonly number[] {
    let best: { readonly token: number; readonly worth: number } | undefined;
    for (const token of firstTokens(mask, LOOKED_AT)) {
      const worth = worthOf(this.textOf(token), last);
      if (best === undefined || worth > best.worth) best = { token, worth };
    }
    return best === undefined ? [] : [best.token];
  }

  private textOf(token: number | undefined): string {
    return token === undefined ? "" : Buffer.from(this.bytesOf(token)).toString("latin1");
  }

  private bytesOf(token: number): Uint8Array {
    const start = this.starts[token] ?? 0;
    return this.tokens.bytes.subarray(start, start + (this.tokens.lengths[token] ?? 0));
  }

  /** A text in the longest tokens; none where the vocabulary lacks one. */
  private spell(text: string): readonly number[] {
    const known = this.spelled.get(text);
    if (known !== undefined) return known;
    const bytes = Buffer.from(text);
    const tokens: number[] = [];
    for (let at = 0; at < bytes.length;) {
      const token = this.longestAt(bytes.subarray(at));
      if (token === undefined) break;
      tokens.push(token);
      at += this.tokens.lengths[token] ?? 1;
      if (at === bytes.length) this.spelled.set(text, tokens);
    }
    if (!this.spelled.has(text)) this.spelled.set(text, []);
    return this.spelled.get(text) ?? [];
  }

  private longestAt(text: Uint8Array): number | undefined {
    const { lengths } = this.tokens;
    let best: number | undefined;
    for (let token = 0; token < this.size; token++) {
      const length = lengths[token] ?? 0;
      if (length <= (best === undefined ? 0 : (lengths[best] ?? 0)) || length > text.length) continue;
      const bytes = this.bytesOf(token);
      if (bytes.every((byte, at) => byte === text[at])) best = token;
    }
    return best;
  }
}

/**
 * Of what the grammar allows next: ends of tags, then long words, short numbers and short signs (signs in one token with a quote may
 * have text behind it), and white space where nothing else may come. A number goes on where nothing else may.
 */
function worthOf(text: string, last: string): number {
  const short = 1 / (1 + text.length);
  if (text.startsWith("</") || (last.endsWith("<") && text.startsWith("/"))) return 100 + short;
  if (/\d$/.test(last) && /^[\d.e+-]/i.test(text)) return short - 3;
  if (/[a-z_]/i.test(text)) return 1 + text.length;
  if (/^\d+$/.test(text)) return 1 + short;
  return short - (/^\s+$/.test(text) ? 2 : 0);
}
