// A model that writes exactly a given answer, through what the engine does with its tokens: stop strings, parser, and the grammar
// of calls from where it applies.

import type { GrammarEngine } from "../../ffi/llama/grammar.ts";
import type { FinishReason, RunEvent, RunRequest } from "../../src/core/run.ts";
import type { RenderedPrompt } from "../../src/worker/text/backend.ts";
import { beginCalls, type EngineSequence, MatcherSet } from "../../src/worker/text/choice.ts";
import { TokenTexts } from "../../src/worker/text/detokenize.ts";
import { ChoiceOutput } from "../../src/worker/text/run-state.ts";
import { chatRequest } from "./engine-run.ts";
import { compile } from "./grammar.ts";

/** What a client gets of it. */
export interface ScriptedAnswer {
  reasoning: string;
  text: string;
  calls: { name: string; args: string }[];
  reason: FinishReason | undefined;
  /** What the grammar did not let the model write; a real model would have written something else. */
  forced: string | undefined;
}

/** `pieces`: texts of the tokens. `reason`: why the answer ends after them. */
export function scriptedAnswer(
  prompt: RenderedPrompt,
  grammars: GrammarEngine,
  pieces: readonly string[],
  reason: "stop" | "length" = "stop",
): ScriptedAnswer {
  const answer: ScriptedAnswer = { reasoning: "", text: "", calls: [], reason: undefined, forced: undefined };
  const request: RunRequest = chatRequest("Hello");
  const output = new ChoiceOutput(
    0,
    prompt,
    request,
    { texts: new TokenTexts(), maxCalls: 32, controls: () => new Map() },
    (event) => note(answer, event),
  );
  const plan = prompt.plan();
  const matcher = plan === undefined ? undefined : compile(grammars, plan.constraint);
  const owner = { output, ...new MatcherSet(undefined, plan, matcher).hold(prompt, false) };
  const sequence = { owner } as unknown as EngineSequence; // all that beginCalls reads
  const ids = new Map<string, number>();
  for (const piece of pieces) {
    const token = ids.get(piece) ?? ids.size;
    ids.set(piece, token);
    if (owner.guard?.active?.feed(piece) === "rejected") {
      answer.forced = piece;
      break;
    }
    output.push(token, Buffer.from(piece));
    if (beginCalls(sequence) !== undefined) answer.forced = "an error";
  }
  const isFree = owner.guard?.active?.mayEnd() ?? true;
  if (answer.forced === undefined && reason === "stop" && !isFree) answer.forced = "the end";
  output.end(reason, false);
  owner.guard?.free();
  owner.calls?.grammar.free();
  return answer;
}

function note(answer: ScriptedAnswer, event: RunEvent): void {
  if (event.type === "text" || event.type === "reasoning") answer[event.type] += event.text;
  if (event.type === "tool_call_start") answer.calls.push({ name: event.name, args: "" });
  if (event.type === "choice_end") answer.reason = event.reason;
  const call = answer.calls.at(-1);
  if (event.type === "tool_call_args" && call !== undefined) call.args += event.delta;
}

/** Tokens of a text: `marks` whole, the rest in words or in letters. */
export function inPieces(
  text: string,
  marks: readonly string[],
  size: "letters" | "words" | "whole",
): string[] {
  if (size === "whole") return [text];
  if (size === "letters") return Array.from(text);
  const escaped = marks.filter((mark) => mark !== "").map(RegExp.escape);
  return text
    .split(new RegExp(`(${[...escaped, "\\s+", "[\\w]+"].join("|")})`))
    .filter((part) => part !== "");
}
