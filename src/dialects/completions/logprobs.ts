// `logprobs` of completions: four lists of equal length, one entry per token.

import type { TokenChance, TokenLogprob } from "../../core/run.ts";
import { wireLogprob } from "../shared/logprobs.ts";
import type { CompletionLogprobs } from "./schema.ts";

/** Converts the tokens of one choice to lists: all at once for a body, in parts for a stream. */
export class LogprobsLayout {
  /** The next token is the first of an echoed prompt: it has no preceding tokens and thus no probability. */
  private isFirstOfPrompt: boolean;
  /** Characters (code points) that start before the next token. */
  private characters = 0;

  constructor(echo: boolean) {
    this.isFirstOfPrompt = echo;
  }

  /** The lists of the next tokens. */
  next(tokens: readonly TokenLogprob[]): CompletionLogprobs {
    const lists: CompletionLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
    for (const token of tokens) {
      lists.tokens.push(tokenName(token));
      lists.token_logprobs.push(this.isFirstOfPrompt ? null : wireLogprob(token.logprob));
      lists.top_logprobs.push(this.isFirstOfPrompt ? null : alternatives(token));
      lists.text_offset.push(this.offsetOf(token.bytes));
      this.isFirstOfPrompt = false;
    }
    return lists;
  }

  /** Offset of a token; advances past it. A token that starts inside a character has the offset of that character. */
  private offsetOf(bytes: readonly number[]): number {
    const [first] = bytes;
    const inside = first !== undefined && isContinuation(first) && this.characters > 0;
    const offset = inside ? this.characters - 1 : this.characters;
    for (const byte of bytes) if (!isContinuation(byte)) this.characters++;
    return offset;
  }
}

/** Whether a byte is a UTF-8 continuation byte. */
function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** The most likely tokens and the sampled one. Of several tokens with the same name the most likely is kept. */
function alternatives(token: TokenLogprob): Record<string, number> {
  const byName = new Map<string, number>();
  for (const one of [...token.top, token]) {
    const name = tokenName(one);
    if (!byName.has(name)) byName.set(name, wireLogprob(one.logprob));
  }
  return Object.fromEntries(byName);
}

/** A token's text; as in OpenAI's API, a token with a partial character is named by its bytes. */
function tokenName({ text, bytes }: TokenChance): string {
  if (!text.includes("\uFFFD") || sameBytes(new TextEncoder().encode(text), bytes)) return text;
  return `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")}`;
}

function sameBytes(a: Uint8Array, b: readonly number[]): boolean {
  return a.length === b.length && b.every((byte, index) => byte === a[index]);
}
