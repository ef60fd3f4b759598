// Creates a choice: its output, its sampler and its sequence.

import type { RunRequest } from "../../core/run.ts";
import type { AnswerGuard } from "./answer-guard.ts";
import type { Backend } from "./backend.ts";
import type { Choice, EngineSequence, PendingCalls } from "./choice.ts";
import type { DraftKind } from "./decode/speculative.ts";
import { newDraftLengths } from "./decode/draft-length.ts";
import { Fingerprint } from "./fingerprint.ts";
import type { MediaChunk } from "./media-backend.ts";
import type { PromptEcho } from "./prompt-echo.ts";
import type { OutputTools, RunState } from "./run-state.ts";
import { Sequence } from "./sequence.ts";
import { skippedThinking, ThinkingLimit } from "./thinking-limit.ts";

export interface ChoiceStart {
  readonly run: RunState;
  /** Index among the run's choices. */
  readonly choice: number;
  readonly guard: AnswerGuard | undefined;
  readonly calls: PendingCalls | undefined;
  /** The prompt and its media chunks. */
  readonly tokens: Int32Array;
  readonly media: readonly MediaChunk[];
  readonly seed: number;
}

/** Shared by all choices of an engine. */
export interface ChoiceTools extends OutputTools {
  readonly backend: Backend;
  readonly echo: PromptEcho;
  readonly drafts: DraftKind;
}

/** Whether the request should be answered like its repetition: then its tokens are computed alike with a cold and a warm cache. */
function isRepeatable({ sampling }: RunRequest, { isInvariant }: Pick<Backend, "isInvariant">): boolean {
  return sampling.seed !== undefined && sampling.temperature > 0 && isInvariant !== true;
}

/**
 * Whether a request has drafts. Those of grammars and of texts before are made where time measured says so, and checked in wider passes,
 * which round differently: not where an answer should be the same as before. A draft model is part of what an answer repeats.
 */
function isDrafted(request: RunRequest, kind: DraftKind, backend: Backend): boolean {
  if (backend.draftModel !== undefined) return true;
  if (kind === "off" || backend.isInvariant === true) return kind !== "off";
  const isSame = request.sampling.temperature === 0 || request.fingerprint === true;
  return !isRepeatable(request, backend) && !(kind === "auto" && isSame);
}

/** The choice's sequence, with no token computed. */
export function newChoice(start: ChoiceStart, tools: ChoiceTools): EngineSequence {
  const { backend, echo, drafts } = tools;
  const { run, choice, guard, calls, tokens, media, seed } = start;
  const { request } = run;
  const scores = request.echo === true && request.logprobs !== undefined;
  const output = run.newOutput(choice, tools);
  if (request.echo === true && !scores) output.echo(echo.text(tokens));
  const textTokens = media.length === 0 ? tokens : tokens.filter((token) => token >= 0);
  const sampler = backend.newSampler(request.sampling, textTokens, seed, choice);
  const repeats = isRepeatable(request, backend);
  const identity = request.fingerprint === true ? backend.identity(run.partition.adapter) : undefined;
  const fingerprint =
    identity === undefined ? undefined : new Fingerprint({ identity, request, seed, choice, tokens });
  const { format } = run.prompt;
  const room = { format, cap: run.tokenCap, stop: request.stop };
  const owner = {
    run,
    output,
    guard,
    drafts: isDrafted(request, drafts, backend) ? newDraftLengths() : undefined,
    calls,
    thinkingLimit: ThinkingLimit.of(room),
    skip: skippedThinking(room, guard),
    fingerprint,
  };
  return new Sequence<Choice>(owner, tokens, sampler, {
    partition: run.partition,
    scoresPrompt: scores,
    lastApart: repeats && !scores,
    media,
  });
}
