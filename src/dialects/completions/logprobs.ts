// `logprobs` of completions: four lists of equal length, one entry a token.

import type { TokenChance, TokenLogprob } from "../../core/run.ts";
import { wireLogprob } from "../shared/logprobs.ts";
import type { CompletionLogprobs } from "./schema.ts";

/** Lays out the tokens of one choice, in a body at once or in a stream bit by bit. */
export class LogprobsLayout {
  /** The next token is the first of an echoed prompt, which nothing precedes, so it has no probability. */
  private unforeseen: boolean;
  /** Characters (code points) that have begun before the next token. */
  private begun = 0;

  constructor(echo: boolean) {
    this.unforeseen = echo;
  }

  /** The lists of the next tokens. */
  next(tokens: readonly TokenLogprob[]): CompletionLogprobs {
    const lists: CompletionLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
    for (const token of tokens) {
      lists.tokens.push(tokenName(token));
      lists.token_logprobs.push(this.unforeseen ? null : wireLogprob(token.logprob));
      lists.top_logprobs.push(this.unforeseen ? null : alternatives(token));
      lists.text_offset.push(this.offsetOf(token.bytes));
      this.unforeseen = false;
    }
    return lists;
  }

  /** Where a token begins; moves on behind it. A token that begins inside a character lies where that began. */
  private offsetOf(bytes: readonly number[]): number {
    const [first] = bytes;
    const inside = first !== undefined && isContinuation(first) && this.begun > 0;
    const offset = inside ? this.begun - 1 : this.begun;
    for (const byte of bytes) if (!isContinuation(byte)) this.begun++;
    return offset;
  }
}

/** Whether a byte of UTF-8 goes on with a character that another byte began. */
function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** The likeliest tokens and the drawn one. Of several with one name the likeliest stays. */
function alternatives(token: TokenLogprob): Record<string, number> {
  const likeliest = new Map<string, number>();
  for (const one of [...token.top, token]) {
    const name = tokenName(one);
    if (!likeliest.has(name)) likeliest.set(name, wireLogprob(one.logprob));
  }
  return Object.fromEntries(likeliest);
}

/** A token's text; as in the base dialect, one that is no whole characters is named by its bytes. */
function tokenName({ text, bytes }: TokenChance): string {
  if (!text.includes("\uFFFD") || sameBytes(new TextEncoder().encode(text), bytes)) return text;
  return `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")}`;
}

function sameBytes(a: Uint8Array, b: readonly number[]): boolean {
  return a.length === b.length && b.every((byte, index) => byte === a[index]);
}
