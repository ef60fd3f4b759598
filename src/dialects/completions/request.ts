// A completions body → one RunRequest a prompt. All rules of this dialect about what may be sent together live here.
// Pure: knows neither HTTP nor the engine.

import { ServiceError } from "../../core/error.ts";
import { COMPLETION_CHOICES_MAX } from "../../core/limits.ts";
import type { Prompt, RunRequest } from "../../core/run.ts";
import { adapterOf } from "../shared/adapter.ts";
import { checker } from "../shared/check.ts";
import { capByGrammar, constraintOf } from "../shared/constraint.ts";
import { capTokens, samplingOf, stopOf } from "../shared/sampling.ts";
import { CompletionRequest } from "./schema.ts";

/** The base dialect's cap on generated tokens where a request has none. */
const MAX_TOKENS_DEFAULT = 16;

/** How the answers are to be presented. */
export interface CompletionLayout {
  /** Answers a prompt. Not more than the run's choices, of which the best are taken. */
  readonly n: number;
  /** Whether log probabilities are part of the answer; a run may have them only to choose the best. */
  readonly withLogprobs: boolean;
  /** The run's text begins with the prompt. */
  readonly echo: boolean;
}

/** What a body asks for: the runs, one a prompt in their order, and how their answer is to be delivered. */
export interface CompletionCall {
  readonly runs: readonly RunRequest[];
  readonly layout: CompletionLayout;
  readonly stream: boolean;
  /** Send usage in a chunk of its own, without choices. */
  readonly includeUsage: boolean;
}

const checkBody = checker(CompletionRequest);

/** Reads a parsed JSON body; throws a ServiceError naming the field at fault and what would be accepted. */
export function parseCompletionRequest(json: Readonly<Record<string, unknown>>): CompletionCall {
  const body = checkBody(json);
  const prompts = promptsOf(body);
  const stream = body.stream ?? false;
  const n = body.n ?? 1;
  const choices = bestOf(body, stream);
  refuseTooMany(prompts.length, choices);
  const echo = body.echo ?? false;
  const top = body.logprobs ?? (choices > n ? 0 : undefined);
  const constrained = constraintOf(body);
  const cap = maxTokensOf(body);
  const run: Omit<RunRequest, "prompt"> = {
    model: body.model ?? "default",
    sampling: samplingOf(body),
    stop: stopOf(body.stop),
    maxTokens: capByGrammar(cap, body) ?? cap,
    ...(echo ? { echo } : {}),
    choices,
    ...(top === undefined ? {} : { logprobs: { top } }),
    ...constrained,
    ...adapterOf(body),
    truncate: body.truncate_sequence ?? false,
  };
  return {
    runs: prompts.map((prompt) => ({ ...run, prompt })),
    layout: { n, withLogprobs: typeof body.logprobs === "number", echo },
    stream,
    includeUsage: stream && body.stream_options?.include_usage === true,
  };
}

function promptsOf({ prompt, suffix, echo }: CompletionRequest): readonly Prompt[] {
  const prompts = separate(prompt);
  const after = suffix ?? "";
  if (after === "") return prompts;
  const [only] = prompts;
  if (prompts.length !== 1 || only?.type !== "text") {
    throw contradiction("suffix", "suffix needs a prompt that is one text");
  }
  if (echo === true) throw contradiction("suffix", "suffix contradicts echo; send one of them");
  return [{ ...only, suffix: after }];
}

/** An array of numbers is one prompt; an array of anything else has one prompt an item. */
function separate(prompt: CompletionRequest["prompt"]): readonly Prompt[] {
  if (typeof prompt === "string") return [{ type: "text", text: prompt }];
  const prompts: Prompt[] = [];
  const tokens: number[] = [];
  for (const item of prompt) {
    if (typeof item === "number") tokens.push(item);
    else if (typeof item === "string") prompts.push({ type: "text", text: item });
    else prompts.push({ type: "tokens", tokens: item });
  }
  return tokens.length > 0 ? [{ type: "tokens", tokens }] : prompts;
}

/** Continuations to generate a prompt. */
function bestOf(body: CompletionRequest, stream: boolean): number {
  const n = body.n ?? 1;
  const best = body.best_of ?? n;
  if (best < n) {
    throw contradiction("best_of", `best_of ${best} is less than n ${n}; it must be at least as many`);
  }
  if (best > n && stream) {
    throw contradiction(
      "best_of",
      "best_of contradicts stream: the best is known at the end; send one of them",
    );
  }
  return best;
}

function refuseTooMany(prompts: number, choices: number): void {
  if (prompts * choices <= COMPLETION_CHOICES_MAX) return;
  const message = `prompt has ${prompts} prompts with ${choices} answers each; together at most ${COMPLETION_CHOICES_MAX} are made`;
  throw new ServiceError("invalid_request", message, { param: "prompt" });
}

function maxTokensOf({ max_tokens: cap, echo }: CompletionRequest): number {
  if (cap !== 0 || echo === true) return capTokens(cap ?? MAX_TOKENS_DEFAULT);
  throw contradiction(
    "max_tokens",
    "max_tokens 0 asks for nothing; it must be at least 1 unless echo is true",
  );
}

function contradiction(param: string, message: string): ServiceError {
  return new ServiceError("contradictory_fields", message, { param });
}
