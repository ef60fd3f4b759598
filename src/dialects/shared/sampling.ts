// Request fields about drawing tokens and ending, the same in chat and completions: their schema and meaning.

import { type Static, Type } from "@sinclair/typebox";
import { ServiceError } from "../../core/error.ts";
import { STOP_STRING_CHARS_MAX, STOP_STRINGS_MAX } from "../../core/limits.ts";
import { DEFAULT_SAMPLING, type SamplingParams } from "../../core/sampling.ts";
import { orNull } from "./check.ts";

/** Largest token cap that the engine's 32-bit counters hold; a larger one means the same. */
const MAX_TOKENS_MAX = 2 ** 31 - 1;
/** Seeds are folded into the integers that a JavaScript number holds exactly. */
const SEED_RANGE = 2 ** 53;

const StopString = Type.String({ minLength: 1, maxLength: STOP_STRING_CHARS_MAX });

export const StopTokens = Type.Union([StopString, Type.Array(StopString, { maxItems: STOP_STRINGS_MAX })], {
  $id: "StopTokens",
  description: "A string, or an array of strings, that ends the answer. It is never part of the answer.",
});

/** Properties to spread into a dialect's request schema. */
export const samplingProperties = {
  temperature: orNull(
    Type.Number({
      minimum: 0,
      maximum: 2,
      description: "Randomness; 0 always takes the likeliest token. Default 1.",
    }),
  ),
  top_p: orNull(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 1,
      description: "Draws from the smallest set of tokens whose probabilities sum to this. Default 1.",
    }),
  ),
  top_k: orNull(Type.Integer({ minimum: 0, description: "Hard cap on candidate tokens; 0 is no cap." })),
  min_p: orNull(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description: "Drops tokens less likely than this share of the likeliest. Default 0.",
    }),
  ),
  seed: orNull(Type.Integer({ description: "Makes the answer repeatable for the same request." })),
  stop: orNull(StopTokens),
};

/** Properties for the cap on generated tokens. */
export const maxTokensProperties = {
  max_tokens: orNull(
    Type.Integer({
      minimum: 1,
      description: "Most tokens to generate a choice. Default: what the context allows.",
    }),
  ),
  max_completion_tokens: orNull(Type.Integer({ minimum: 1, description: "Another name of `max_tokens`." })),
};

const SamplingFields = Type.Object(samplingProperties);
const MaxTokensFields = Type.Object(maxTokensProperties);

/** Sampling settings of a checked body; what is absent or null takes the default. */
export function samplingOf(body: Static<typeof SamplingFields>): SamplingParams {
  const seed = body.seed ?? undefined;
  return {
    temperature: body.temperature ?? DEFAULT_SAMPLING.temperature,
    topP: body.top_p ?? DEFAULT_SAMPLING.topP,
    topK: body.top_k ?? DEFAULT_SAMPLING.topK,
    minP: body.min_p ?? DEFAULT_SAMPLING.minP,
    ...(seed === undefined ? {} : { seed: foldSeed(seed) }),
  };
}

/** Stop strings of a checked body, duplicates removed. */
export function stopOf(stop: Static<typeof StopTokens> | null | undefined): readonly string[] {
  if (stop === null || stop === undefined) return [];
  return typeof stop === "string" ? [stop] : [...new Set(stop)];
}

/** The token cap under either name; throws `contradictory_fields` when the two differ. */
export function maxTokensOf(body: Static<typeof MaxTokensFields>): number | undefined {
  const cap = body.max_tokens ?? undefined;
  const alias = body.max_completion_tokens ?? undefined;
  if (cap !== undefined && alias !== undefined && cap !== alias) {
    throw new ServiceError(
      "contradictory_fields",
      `max_tokens ${cap} contradicts max_completion_tokens ${alias}; they mean the same, send only one of them`,
      { param: "max_completion_tokens" },
    );
  }
  const given = cap ?? alias;
  return given === undefined ? undefined : Math.min(given, MAX_TOKENS_MAX);
}

/** Negative and 64-bit seeds are legal on the wire: [-2^63, 2^64) maps into [0, 2^53). */
function foldSeed(seed: number): number {
  const rest = seed % SEED_RANGE;
  return rest < 0 ? rest + SEED_RANGE : rest;
}
