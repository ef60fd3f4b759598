// Counts a text's tokens with the model's tokenizer, by a count-only run that computes nothing.

import type { Caller } from "../core/caller.ts";
import type { Generate } from "../core/run.ts";
import { DEFAULT_SAMPLING } from "../core/sampling.ts";

/** Tokens of a text; an estimate if the model does not answer. Never rejects. */
export type CountTokens = (
  model: string,
  text: string,
  signal: AbortSignal,
  caller: Caller,
) => Promise<number>;

/** Bytes per token of the estimate; low, so that it overestimates. */
const BYTES_PER_TOKEN = 3;

export function tokenCounter(generate: Generate): CountTokens {
  return async (model, text, signal, caller) => {
    try {
      for await (const event of generate(countRequest(model, text), signal, caller)) {
        if (event.type === "accepted") return event.promptTokens;
      }
    } catch {
      // If the model was unloaded, the answer fails elsewhere.
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
