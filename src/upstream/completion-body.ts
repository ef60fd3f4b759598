// RunRequest → the body of a completion. Pure.

import { assert } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import type { Prompt, RunRequest } from "../core/run.ts";
import { type Body, commonFields, constraintFields } from "./common-body.ts";
import type { ServerFacts } from "./facts.ts";

export type TextRequest = RunRequest<Exclude<Prompt, { type: "chat" }>>;

/** Cap that stands for "until the context is full", where completions have a small default of their own. */
const NO_CAP = 2 ** 31 - 1;

/** The body that asks a server for a streamed completion. */
export function completionBody(request: TextRequest, model: string, facts: ServerFacts): Body {
  const { prompt, maxTokens, logprobs, echo } = request;
  assert(prompt.type !== "gap", "gaps are refused before");
  const suffix = prompt.type === "text" ? prompt.suffix : undefined;
  const cap = maxTokens ?? (facts.engine === "svc" ? NO_CAP : undefined);
  return {
    model,
    prompt: prompt.type === "text" ? prompt.text : prompt.tokens,
    ...defined({ suffix, max_tokens: cap }),
    ...(echo === true ? { echo } : {}),
    ...commonFields(request, facts.engine),
    ...defined({ logprobs: logprobs?.top }),
    ...constraintFields(request, facts),
    stream: true,
    stream_options: { include_usage: true },
  };
}
