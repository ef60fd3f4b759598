// One continuation of a run's prompt: what its sequence belongs to, and how its answer is held to what was asked of it
// (a constraint, a tool call that must be made, the grammar of tools from a call's marker on).

import type { RunRequest } from "../core/run.ts";
import { AnswerGuard, escapesOf } from "./answer-guard.ts";
import type { Backend, RenderedPrompt } from "./backend.ts";
import type { Matcher } from "./constraint-backend.ts";
import type { Drafter } from "./drafter.ts";
import type { ChoiceOutput, RunState } from "./run-state.ts";
import type { Sequence } from "./sequence.ts";

/** What a sequence of the engine belongs to. */
export interface Choice {
  readonly run: RunState;
  readonly output: ChoiceOutput;
  /** A tool call must be made, and begins like this as soon as the model has done with reasoning; empty if not, or done. */
  marker: Int32Array;
  /** What the answer must look like, if anything was asked. */
  readonly guard: AnswerGuard | undefined;
  /** Guesses what follows; undefined where nothing is guessed. */
  readonly drafter: Drafter | undefined;
  /** A tool call may still begin; from its marker on, the grammar of the tools holds. */
  tools: boolean;
}

export type EngineSequence = Sequence<Choice>;

/** The marker of a tool call lies within this many tokens before the one that completes it. */
const MARKER_TOKENS_MAX = 24;

/** Whether the answer may begin with reasoning. */
export function mayReason({ format }: RenderedPrompt, { prompt }: RunRequest): boolean {
  const reasons = format.thinkingStart !== "" || format.startsInReasoning;
  return reasons && prompt.type === "chat" && prompt.thinking.enabled;
}

/** Holds an answer to a constraint, which then owns `matcher`; undefined without one. */
export function newGuard(
  matcher: Matcher | undefined,
  prompt: RenderedPrompt,
  request: RunRequest,
): AnswerGuard | undefined {
  if (matcher === undefined) return undefined;
  const { format } = prompt;
  const escapes = escapesOf(format, mayReason(prompt, request), format.toolGrammar === "marker");
  return new AnswerGuard(matcher, escapes, format.startsInReasoning);
}

/** Writes the beginning of a tool call into the answer, where one must be made. */
export function beginCall(backend: Backend, sequence: EngineSequence): void {
  const { owner, sampler } = sequence;
  const { marker, run, output } = owner;
  if (marker.length === 0) return;
  owner.marker = new Int32Array();
  backend.acceptForced(sampler, marker);
  for (const token of marker) {
    sequence.append(token);
    run.tokenForced();
    output.push(token, backend.tokenBytes(token, run.prompt.format.visibleTokens.has(token)));
  }
}

/** Holds a tool call that has just begun to the grammar of the tools. */
export function constrainTools(backend: Backend, sequence: EngineSequence): void {
  const { owner, sampler, known, generated } = sequence;
  owner.tools = false;
  const recent = Math.min(generated, MARKER_TOKENS_MAX);
  backend.constrainTools(sampler, owner.run.prompt, sequence.firstTokens(known).slice(known - recent));
}
