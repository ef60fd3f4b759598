// Request fields about drawing tokens and ending that dialects share: their schema and meaning.

import { type Static, Type } from "@sinclair/typebox";
import { ServiceError } from "../../core/error.ts";
import {
  CHOICES_MAX,
  DRY_BREAKER_CHARS_MAX,
  DRY_BREAKERS_MAX,
  STOP_STRING_CHARS_MAX,
  STOP_STRINGS_MAX,
  TOKEN_ID_MAX,
} from "../../core/limits.ts";
import {
  DEFAULT_DRY,
  DEFAULT_SAMPLING,
  type DryParams,
  type LogitBias,
  type SamplingParams,
} from "../../core/sampling.ts";
import { orNull } from "./check.ts";

/** Largest token cap that the engine's 32-bit counters hold; a larger one means the same. */
const MAX_TOKENS_MAX = 2 ** 31 - 1;
/** Seeds are folded into the integers that a JavaScript number holds exactly. */
const SEED_RANGE = 2 ** 53;

const StopString = Type.String({ minLength: 1, maxLength: STOP_STRING_CHARS_MAX });

/** Several stop strings, where they have a field of their own. */
export const stopStrings = (description: string) =>
  Type.Array(StopString, { maxItems: STOP_STRINGS_MAX, description });

export const StopTokens = Type.Union([StopString, Type.Array(StopString, { maxItems: STOP_STRINGS_MAX })], {
  $id: "StopTokens",
  description: "A string, or an array of strings, that ends the answer. It is never part of the answer.",
});

/** Decimal without leading zeros, so that no two keys mean one token; up to ten digits hold every 32-bit id. */
const TOKEN_ID_PATTERN = "^(0|[1-9][0-9]{0,9})$";

const penalty = (description: string) => orNull(Type.Number({ minimum: -2, maximum: 2, description }));

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
  logit_bias: orNull(
    Type.Record(Type.String({ pattern: TOKEN_ID_PATTERN }), Type.Number({ minimum: -100, maximum: 100 }), {
      additionalProperties: false,
      propertyNames: { description: "token ids" },
      description: "What to add to the logit of a token, by token id; -100 bans it, 100 forces it.",
    }),
  ),
  presence_penalty: penalty("Lowers tokens that are already in the answer. Default 0."),
  frequency_penalty: penalty("Lowers tokens for each time that they are in the answer. Default 0."),
  repetition_penalty: orNull(
    Type.Number({
      exclusiveMinimum: 0,
      description: "Divides the logits of tokens in the prompt or the answer. Default 1, which is off.",
    }),
  ),
  dry_multiplier: orNull(
    Type.Number({
      minimum: 0,
      description: "Strength of the DRY repetition penalty. Default 0, which is off.",
    }),
  ),
  dry_base: orNull(
    Type.Number({
      minimum: 1,
      description: "How fast the DRY penalty grows with the repetition. Default 1.75.",
    }),
  ),
  dry_allowed_length: orNull(
    Type.Integer({ minimum: 0, description: "Length of repetitions that DRY lets pass, tokens. Default 2." }),
  ),
  dry_sequence_breakers: orNull(
    Type.Array(Type.String({ minLength: 1, maxLength: DRY_BREAKER_CHARS_MAX }), {
      maxItems: DRY_BREAKERS_MAX,
      description:
        "Strings over which DRY counts no repetition. Default: line break, colon, quote, asterisk.",
    }),
  ),
  seed: orNull(Type.Integer({ description: "Makes the answer repeatable for the same request." })),
};

/** Stop strings, where they are called `stop`. */
export const stopProperties = { stop: orNull(StopTokens) };

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

/** The number of continuations of a prompt. */
export const choicesProperties = {
  n: orNull(Type.Integer({ minimum: 1, maximum: CHOICES_MAX, description: "Number of answers. Default 1." })),
};

const StreamOptions = Type.Object(
  { include_usage: orNull(Type.Boolean({ description: "Send usage in a last chunk without choices." })) },
  { $id: "StreamOptions", additionalProperties: true },
);

/** How the answer is delivered. */
export const streamProperties = {
  stream: orNull(Type.Boolean({ description: "Send the answer as server-sent events while it is made." })),
  stream_options: orNull(StreamOptions),
};

export const truncateProperties = {
  truncate_sequence: orNull(
    Type.Boolean({
      description: "Cut a prompt that exceeds the context instead of answering with an error.",
    }),
  ),
};

const SamplingFields = Type.Object(samplingProperties);
const MaxTokensFields = Type.Object(maxTokensProperties);

/** Sampling settings of a checked body; what is absent or null takes the default. */
export function samplingOf(body: Static<typeof SamplingFields>): SamplingParams {
  const seed = body.seed ?? undefined;
  return {
    logitBias: Object.entries(body.logit_bias ?? {}).map(logitBiasOf),
    repetitionPenalty: body.repetition_penalty ?? DEFAULT_SAMPLING.repetitionPenalty,
    frequencyPenalty: body.frequency_penalty ?? DEFAULT_SAMPLING.frequencyPenalty,
    presencePenalty: body.presence_penalty ?? DEFAULT_SAMPLING.presencePenalty,
    dry: dryOf(body),
    temperature: body.temperature ?? DEFAULT_SAMPLING.temperature,
    topP: body.top_p ?? DEFAULT_SAMPLING.topP,
    topK: body.top_k ?? DEFAULT_SAMPLING.topK,
    minP: body.min_p ?? DEFAULT_SAMPLING.minP,
    ...(seed === undefined ? {} : { seed: foldSeed(seed) }),
  };
}

function logitBiasOf([key, bias]: readonly [string, number]): LogitBias {
  const token = Number(key);
  if (token <= TOKEN_ID_MAX) return { token, bias };
  const message = `logit_bias has the key "${key}"; keys must be token ids, which end at ${TOKEN_ID_MAX}`;
  throw new ServiceError("invalid_request", message, { param: "logit_bias" });
}

function dryOf(body: Static<typeof SamplingFields>): DryParams {
  return {
    multiplier: body.dry_multiplier ?? DEFAULT_DRY.multiplier,
    base: body.dry_base ?? DEFAULT_DRY.base,
    allowedLength: body.dry_allowed_length ?? DEFAULT_DRY.allowedLength,
    sequenceBreakers: body.dry_sequence_breakers ?? DEFAULT_DRY.sequenceBreakers,
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
  return given === undefined ? undefined : capTokens(given);
}

/** A token cap as the engine's counters hold it. */
export function capTokens(cap: number): number {
  return Math.min(cap, MAX_TOKENS_MAX);
}

/** Negative and 64-bit seeds are legal on the wire: [-2^63, 2^64) maps into [0, 2^53). */
function foldSeed(seed: number): number {
  const rest = seed % SEED_RANGE;
  return rest < 0 ? rest + SEED_RANGE : rest;
}
