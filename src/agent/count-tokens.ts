// How many tokens a text is for a model: the engine renders and counts it, without computing anything.

import type { Generate } from "../core/run.ts";
import { DEFAULT_SAMPLING } from "../core/sampling.ts";

/** Tokens of a text; an estimate where the model does not answer. Never rejects. */
export type CountTokens = (model: string, text: string, signal: AbortSignal) => Promise<number>;

/** Bytes of a token, for the estimate: few, so that it errs on the side of too many. */
const BYTES_PER_TOKEN = 3;

export function tokenCounter(generate: Generate): CountTokens {
  return async (model, text, signal) => {
    try {
      for await (const event of generate(countRequest(model, text), signal)) {
        if (event.type === "accepted") return event.promptTokens;
      }
    } catch {
      // A model that is gone by now fails the answer by itself.
    }
    return Math.ceil(new TextEncoder().encode(text).byteLength / BYTES_PER_TOKEN);
  };
}

function countRequest(model: string, text: string) {
  return {
    model,
    prompt: { type: "text", text },
    sampling: DEFAULT_SAMPLING,
    stop: [],
    choices: 1,
    countOnly: true,
    truncate: false,
  } as const;
}
