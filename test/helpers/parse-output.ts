// Runs raw answers through the OutputParser in pieces and puts together what comes out.

import { expect } from "bun:test";
import type { ParsedMessage, RenderedPrompt } from "../../src/worker/text/backend.ts";
import { type OutputDelta, OutputParser } from "../../src/worker/text/output-parser.ts";

/** An answer, put together. */
export interface ParsedAnswer {
  reasoning: string;
  text: string;
  calls: { id: string; name: string; args: string }[];
}

export interface Parsed {
  readonly answer: ParsedAnswer;
  readonly deltas: readonly OutputDelta[];
  readonly charsRead: number;
}

/** What comes of a raw answer that arrives in pieces of so many characters. */
export function parseInPieces(prompt: RenderedPrompt, raw: string, size: number): Parsed {
  let charsRead = 0;
  let ids = 0;
  const counting: RenderedPrompt = {
    tokens: prompt.tokens,
    media: [],
    format: prompt.format,
    plain: false,
    plan: () => undefined,
    parse: (text: string): ParsedMessage | undefined => {
      charsRead += text.length;
      return prompt.parse(text);
    },
    free: () => {},
  };
  const parser = new OutputParser(counting, () => `call_${ids++}`);
  const deltas: OutputDelta[] = [];
  const chars = Array.from(raw); // as the detokenizer, never half a character
  for (let at = 0; at < chars.length; at += size) {
    deltas.push(...parser.push(chars.slice(at, at + size).join("")));
  }
  deltas.push(...parser.end());
  return { answer: foldDeltas(deltas), deltas, charsRead };
}

export function foldDeltas(deltas: readonly OutputDelta[]): ParsedAnswer {
  const answer: ParsedAnswer = { reasoning: "", text: "", calls: [] };
  for (const delta of deltas) {
    if (delta.type === "text" || delta.type === "reasoning") answer[delta.type] += delta.text;
    else if (delta.type === "tool_call_start") {
      expect(delta.index).toBe(answer.calls.length);
      answer.calls.push({ id: delta.id, name: delta.name, args: "" });
    } else {
      const call = answer.calls[delta.index];
      if (call !== undefined) call.args += delta.delta;
    }
  }
  return answer;
}

/** Formats put white space around their parts, and parsers differ in whose it is. */
export function comparable({ reasoning, text, calls }: ParsedAnswer): unknown {
  return {
    reasoning: reasoning.trim(),
    text: text.trim(),
    calls: calls.map(({ name, args }) => ({ name, args: JSON.parse(args) })),
  };
}
