// Converts a completions body to one RunRequest per prompt. Owns all rules about field combinations of this dialect.
// Pure: knows neither HTTP nor the engine.

import { type Compat, STRICT } from "../../core/compat.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import { runKeepAlive } from "../shared/keep-alive.ts";
import { COMPLETION_CHOICES_MAX } from "../shared/limits.ts";
import type { Prompt, RunRequest } from "../../core/run.ts";
import { adapterOf } from "../shared/adapter.ts";
import { capByGrammar, constraintOf, refuseJsonObject } from "../shared/constraint.ts";
import { capTokens, endOf, samenessOf, samplingOf, stopOf } from "../shared/sampling.ts";
import { bodyChecker } from "../shared/unknown-fields.ts";
import { CompletionRequest } from "./schema.ts";

/** OpenAI's default cap on generated tokens. */
const MAX_TOKENS_DEFAULT = 16;

/** How runs are presented in the answer. */
export interface CompletionLayout {
  /** Answers per prompt: the best `n` of the run's choices. */
  readonly n: number;
  /** The answer has log probabilities. A run may also compute them only to rank its choices. */
  readonly withLogprobs: boolean;
  /** The answer starts with the prompt. */
  readonly echo: boolean;
}

/** A parsed completions request: one run per prompt, in order. */
export interface CompletionCall {
  readonly runs: readonly RunRequest[];
  readonly layout: CompletionLayout;
  readonly stream: boolean;
  /** Send usage in a separate chunk without choices. */
  readonly includeUsage: boolean;
}

const checkBody = bodyChecker(CompletionRequest);

/** Parses a request body; throws a ServiceError naming the field at fault and the accepted values. */
export function parseCompletionRequest(
  json: Readonly<Record<string, unknown>>,
  compat: Compat = STRICT,
): CompletionCall {
  refuseJsonObject(json["response_format"], "response_format", compat);
  const body = checkBody(json, compat);
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
    ...defined({ maxTokens: capByGrammar(cap, body) }),
    ...(echo ? { echo } : {}),
    choices,
    ...(top === undefined ? {} : { logprobs: { top } }),
    ...constrained,
    ...adapterOf(body),
    truncate: body.truncate_sequence ?? false,
    ...runKeepAlive(body),
    ...samenessOf(body),
    ...endOf(body),
  };
  return {
    runs: prompts.map((prompt) => ({ ...run, prompt })),
    layout: { n, withLogprobs: typeof body.logprobs === "number", echo },
    stream,
    includeUsage: stream && body.stream_options?.include_usage === true,
  };
}

function promptsOf({ prompt, suffix, echo }: CompletionRequest): readonly Prompt[] {
  const prompts = splitPrompts(prompt);
  const after = suffix ?? "";
  if (after === "") return prompts;
  const [only] = prompts;
  if (prompts.length !== 1 || only?.type !== "text") {
    throw contradiction("suffix", "suffix requires prompt to be a single string");
  }
  if (echo === true) throw contradiction("suffix", "suffix contradicts echo; send only one of them");
  return [{ ...only, suffix: after }];
}

/** An array of numbers is one prompt; any other array has one prompt per item. */
function splitPrompts(prompt: CompletionRequest["prompt"]): readonly Prompt[] {
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

/** Choices to generate per prompt. */
function bestOf(body: CompletionRequest, stream: boolean): number {
  const n = body.n ?? 1;
  const best = body.best_of ?? n;
  if (best < n) {
    throw contradiction("best_of", `best_of ${best} is less than n ${n}; it must be at least n`);
  }
  if (best > n && stream) {
    throw contradiction(
      "best_of",
      "best_of contradicts stream, because choices are ranked at the end; send only one of them",
    );
  }
  return best;
}

function refuseTooMany(prompts: number, choices: number): void {
  if (prompts * choices <= COMPLETION_CHOICES_MAX) return;
  const message = `prompt has ${prompts} prompts with ${choices} answers each; at most ${COMPLETION_CHOICES_MAX} answers per request are allowed`;
  throw new ServiceError("invalid_request", message, { param: "prompt" });
}

function maxTokensOf({ max_tokens: cap, echo }: CompletionRequest): number | undefined {
  if (cap !== 0 || echo === true) return capTokens(cap ?? MAX_TOKENS_DEFAULT);
  throw contradiction("max_tokens", "max_tokens 0 requires echo: true; otherwise it must be at least 1");
}

function contradiction(param: string, message: string): ServiceError {
  return new ServiceError("contradictory_fields", message, { param });
}
