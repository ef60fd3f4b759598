// The usage object of chat and completions: OpenAI's fields plus timings.

import { type Static, Type } from "@sinclair/typebox";
import type { Timings, Usage } from "../../core/run.ts";
import { count } from "../../core/schema-fields.ts";

const float = (description: string) => Type.Number({ description });

/** Answers whose reasoning the server ended: at its budget, or to leave room for the answer. Absent: none. */
export const closedThoughts = count(
  "Answers whose reasoning was ended at its budget, or to leave room for the answer. Absent: none.",
);

/** `closedThoughts` of a run. */
export function closedThoughtsOf({ closedThoughts: count }: Usage): { readonly closed_thoughts?: number } {
  return count === undefined ? {} : { closed_thoughts: count };
}

export const CompletionUsageResponse = Type.Object(
  {
    prompt_tokens: count("Tokens of the prompt."),
    completion_tokens: count("Generated tokens, over all choices."),
    total_tokens: count("Prompt and generated tokens."),
    prompt_tokens_details: Type.Object(
      {
        cached_tokens: count("Prompt tokens taken from the prefix cache instead of computed."),
      },
      { description: "Parts of `prompt_tokens`." },
    ),
    completion_tokens_details: Type.Object(
      {
        reasoning_tokens: count("Generated reasoning tokens."),
        closed_thoughts: Type.Optional(closedThoughts),
      },
      { description: "Parts of `completion_tokens`." },
    ),
    avg_tok_per_sec: float("All tokens divided by the total time."),
    avg_prompt_tok_per_sec: float("Prompt tokens divided by the prompt time."),
    avg_compl_tok_per_sec: float("Generated tokens divided by the completion time."),
    total_time_sec: float("Seconds from arrival to the last token."),
    total_prompt_time_sec: float("Seconds from arrival to the end of prefill, queueing included."),
    total_completion_time_sec: float("Seconds from the end of prefill to the last token."),
  },
  { $id: "CompletionUsageResponse", description: "Token counts and timings of a request." },
);
export type CompletionUsageResponse = Static<typeof CompletionUsageResponse>;

/** The wire form of a run's token counts and times. */
export function usageBody(usage: Usage, timings: Timings): CompletionUsageResponse {
  const totalTokens = usage.promptTokens + usage.completionTokens;
  const totalSecs = timings.promptSecs + timings.completionSecs;
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: totalTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens, ...closedThoughtsOf(usage) },
    avg_tok_per_sec: rate(totalTokens, totalSecs),
    avg_prompt_tok_per_sec: rate(usage.promptTokens, timings.promptSecs),
    avg_compl_tok_per_sec: rate(usage.completionTokens, timings.completionSecs),
    total_time_sec: totalSecs,
    total_prompt_time_sec: timings.promptSecs,
    total_completion_time_sec: timings.completionSecs,
  };
}

/** Token counts and times of one run. */
export interface RunCost {
  readonly usage: Usage;
  readonly timings: Timings;
}

/** Cost of one or more concurrent runs: counts are summed, times are those of the slowest run. */
export function mergeCosts(costs: readonly RunCost[]): RunCost {
  const sum = (count: (usage: Usage) => number) =>
    costs.reduce((total, { usage }) => total + count(usage), 0);
  const promptSecs = Math.max(...costs.map(({ timings }) => timings.promptSecs));
  const totalSecs = Math.max(...costs.map(({ timings }) => timings.promptSecs + timings.completionSecs));
  return {
    usage: {
      promptTokens: sum((usage) => usage.promptTokens),
      cachedTokens: sum((usage) => usage.cachedTokens),
      completionTokens: sum((usage) => usage.completionTokens),
      reasoningTokens: sum((usage) => usage.reasoningTokens),
      ...counted(sum((usage) => usage.closedThoughts ?? 0)),
    },
    timings: { promptSecs, completionSecs: totalSecs - promptSecs },
  };
}

function counted(closed: number): Pick<Usage, "closedThoughts"> {
  return closed === 0 ? {} : { closedThoughts: closed };
}

/** Tokens per second; 0 if no time passed, because JSON has no infinity. */
function rate(tokens: number, secs: number): number {
  return secs > 0 ? tokens / secs : 0;
}
