// A model that reasons in given pieces until its reasoning is ended, and then writes an answer.

import type { RenderedPrompt } from "../../src/worker/text/backend.ts";
import { TokenTexts } from "../../src/worker/text/detokenize.ts";
import { ChoiceOutput } from "../../src/worker/text/run-state.ts";
import { ThinkingLimit } from "../../src/worker/text/thinking-limit.ts";
import { chatRequest } from "./engine-run.ts";

export interface BudgetedAnswer {
  readonly reasoning: string;
  readonly text: string;
  /** Pieces that were written as reasoning. */
  readonly reasoned: number;
}

export function budgeted(
  prompt: RenderedPrompt,
  pieces: readonly string[],
  answer: string,
  cap = 400,
): BudgetedAnswer {
  const said = { reasoning: "", text: "" };
  const tools = { texts: new TokenTexts(), maxCalls: 32, controls: () => new Map<number, string>() };
  const output = new ChoiceOutput(0, prompt, chatRequest("Hello"), tools, (event) => {
    if (event.type === "reasoning" || event.type === "text") said[event.type] += event.text;
  });
  const limit = ThinkingLimit.of({ format: prompt.format, cap, stop: [] });
  const write = (text: string, token: number): void => void output.push(token, Buffer.from(text));
  let reasoned = 0;
  for (const [at, piece] of pieces.filter((text) => text !== "").entries()) {
    write(piece, at);
    reasoned++;
    const end = limit?.noted(output, reasoned, undefined);
    const close = prompt.format.thinkingCloses?.find(({ tokens }) => tokens === end);
    if (close === undefined) continue;
    write(close.text, pieces.length);
    break;
  }
  write(answer, pieces.length + 1);
  output.end("stop", false);
  return { ...said, reasoned };
}
