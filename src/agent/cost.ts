// Token usage and timings summed over the passes of one answer.

import type { Timings, Usage } from "../core/run.ts";

export interface Cost {
  readonly usage: Usage;
  readonly timings: Timings;
}

export const NO_COST: Cost = {
  usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
  timings: { promptSecs: 0, completionSecs: 0 },
};

/** Sum of two costs, field by field. */
export function addCosts(one: Cost, other: Cost): Cost {
  const closed = (one.usage.closedThoughts ?? 0) + (other.usage.closedThoughts ?? 0);
  return {
    usage: {
      promptTokens: one.usage.promptTokens + other.usage.promptTokens,
      cachedTokens: one.usage.cachedTokens + other.usage.cachedTokens,
      completionTokens: one.usage.completionTokens + other.usage.completionTokens,
      reasoningTokens: one.usage.reasoningTokens + other.usage.reasoningTokens,
      ...(closed === 0 ? {} : { closedThoughts: closed }),
    },
    timings: {
      promptSecs: one.timings.promptSecs + other.timings.promptSecs,
      completionSecs: one.timings.completionSecs + other.timings.completionSecs,
    },
  };
}
