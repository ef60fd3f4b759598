// Sampling, stop, token-cap and streaming fields common to dialects: schemas and conversion.

import { type Static, Type } from "@sinclair/typebox";
import { ServiceError } from "../../core/error.ts";
import { BIASED_TOKENS_MAX } from "../../core/limits.ts";
import type { RunRequest } from "../../core/run.ts";
import { orNull } from "../../core/schema-fields.ts";
import {
  CHOICES_MAX,
  DRY_BREAKER_CHARS_MAX,
  DRY_BREAKERS_MAX,
  STOP_STRING_CHARS_MAX,
  STOP_STRINGS_MAX,
  TOKEN_ID_MAX,
} from "./limits.ts";
import {
  bySamplingName,
  DEFAULT_DRY,
  DEFAULT_SAMPLING,
  type DryParams,
  type LlamaName,
  llamaNameOf,
  type LogitBias,
  SAMPLING_NAMES,
  samplingNumbers,
  type SamplingOption,
  type SamplingParams,
} from "../../core/sampling.ts";
import { isPresent } from "./check.ts";

/** Largest token cap of the engine's 32-bit counters; larger caps are clamped to it. */
const MAX_TOKENS_MAX = 2 ** 31 - 1;
/** Seeds are folded into the range of exact JavaScript integers. */
const SEED_RANGE = 2 ** 53;

const StopString = Type.String({ maxLength: STOP_STRING_CHARS_MAX });

/** A count for which -1 says that there is no limit, as in llama.cpp, vLLM and LM Studio. */
export function orUnlimited(minimum: number, description: string) {
  return Type.Union([Type.Integer({ minimum }), Type.Literal(UNLIMITED)], { description });
}
const UNLIMITED = -1;

/** An array of stop strings, for dialects that accept only arrays. */
export const stopStrings = (description: string) =>
  Type.Array(StopString, { maxItems: STOP_STRINGS_MAX, description });

export const StopTokens = Type.Union([StopString, Type.Array(StopString, { maxItems: STOP_STRINGS_MAX })], {
  $id: "StopTokens",
  description:
    "String or strings that end the answer. They are never part of the answer; empty ones count for nothing.",
});

/** Decimal without leading zeros, so that keys are unique per token; ten digits cover all 32-bit ids. */
const TOKEN_ID_PATTERN = "^(0|[1-9][0-9]{0,9})$";

/** Field of a sampling option. */
function optionField(option: SamplingOption) {
  const { text, requestText = text, range, below, isWhole, neutral, svcDefault } = option;
  const off = `Default ${neutral}${neutral === 0 ? "" : " (off)"}.`;
  const ending = svcDefault === undefined ? off : "Default: see `defaults` of the model.";
  const description = `${requestText} ${ending}`;
  const { exclusiveMinimum: _exclusive, ...inclusive } = range;
  const bounds = below === undefined ? range : { ...inclusive, minimum: below.minimum };
  const number =
    isWhole === true ? orUnlimited(range.minimum ?? 0, description) : Type.Number({ ...bounds, description });
  return orNull(Type.Unsafe<number>(number));
}

/** Properties to spread into a dialect's request schema. */
export const samplingProperties = {
  ...bySamplingName((_, option) => optionField(option)),
  logit_bias: orNull(
    Type.Record(Type.String({ pattern: TOKEN_ID_PATTERN }), Type.Number({ minimum: -100, maximum: 100 }), {
      additionalProperties: false,
      maxProperties: BIASED_TOKENS_MAX,
      propertyNames: { description: "token ids" },
      description: "Value added to a token's logit, by token id; -100 bans the token, 100 forces it.",
    }),
  ),
  dry_multiplier: orNull(
    Type.Number({
      minimum: 0,
      description: "Strength of the DRY repetition penalty. Default 0 (off).",
    }),
  ),
  dry_base: orNull(
    Type.Number({
      minimum: 1,
      description: "Base of the DRY penalty's growth with the length of the repetition. Default 1.75.",
    }),
  ),
  dry_allowed_length: orNull(
    Type.Integer({ minimum: 0, description: "Longest repetition that DRY ignores, tokens. Default 2." }),
  ),
  dry_sequence_breakers: orNull(
    Type.Array(Type.String({ minLength: 1, maxLength: DRY_BREAKER_CHARS_MAX }), {
      maxItems: DRY_BREAKERS_MAX,
      description: "Strings that end a repetition for DRY. Default: line break, colon, quote, asterisk.",
    }),
  ),
  seed: orNull(Type.Integer({ description: "Makes the answer to the same request reproducible." })),
};

/** The numeric options under the names that llama.cpp's server and Ollama have for them. */
export const llamaSamplingProperties = Object.fromEntries(
  SAMPLING_NAMES.map((name) => [llamaNameOf(name), samplingProperties[name]]),
) as Record<LlamaName, ReturnType<typeof optionField>>; // one for each name

/** Stop strings under the field name `stop`. */
export const stopProperties = { stop: orNull(StopTokens) };

/** Asks for the same bits in every batch, and for a fingerprint of them. */
export const samenessProperties = {
  determinism: orNull(
    Type.Literal("batch-invariant", {
      description:
        "Fail unless the answer is independent of other requests, bit for bit; needs a server with this setting.",
    }),
  ),
  fingerprint: orNull(
    Type.Boolean({
      description: "Report a `fingerprint` of each choice, also in the header X-SVC-Fingerprint.",
    }),
  ),
};

/** The end of an answer, in dialects that continue texts and conversations. */
export const endProperties = {
  ignore_eos: orNull(
    Type.Boolean({ description: "The answer goes on to its cap, whatever the model says; for measuring." }),
  ),
};

/** What the field says of a run. */
export function endOf(body: { readonly ignore_eos?: boolean | null }): Pick<RunRequest, "ignoreEnd"> {
  return body.ignore_eos === true ? { ignoreEnd: true } : {};
}

/** The parts of a run that these fields ask for. */
export function samenessOf(
  body: Static<typeof SamenessFields>,
): Pick<RunRequest, "fingerprint" | "batchInvariant"> {
  return {
    ...(body.fingerprint === true ? { fingerprint: true } : {}),
    ...(body.determinism === "batch-invariant" ? { batchInvariant: true } : {}),
  };
}

/** The fingerprint of an answer. */
export const fingerprintProperties = {
  fingerprint: Type.Optional(
    Type.String({
      description:
        "Hash over what determines the choice, its tokens and their log probabilities, where asked for.",
    }),
  ),
};

/** The end of a choice: the stop string, as in vLLM, and the fingerprint. */
export const choiceEndProperties = {
  stop_reason: Type.Optional(
    Type.String({ description: "The stop string that ended the choice; absent for any other end." }),
  ),
  ...fingerprintProperties,
};

/** Properties for the cap on generated tokens. */
export const maxTokensProperties = {
  max_tokens: orNull(
    orUnlimited(1, "Cap on generated tokens per choice. Default and -1: the rest of the context."),
  ),
  max_completion_tokens: orNull(orUnlimited(1, "Synonym of `max_tokens`.")),
};

/** The number of continuations of a prompt. */
export const choicesProperties = {
  n: orNull(Type.Integer({ minimum: 1, maximum: CHOICES_MAX, description: "Number of answers. Default 1." })),
};

const StreamOptions = Type.Object(
  { include_usage: orNull(Type.Boolean({ description: "Send usage in a final chunk without choices." })) },
  { $id: "StreamOptions", description: "What a stream has besides the answer.", additionalProperties: true },
);

/** Streaming fields. */
export const streamProperties = {
  stream: orNull(Type.Boolean({ description: "Stream the answer as server-sent events." })),
  stream_options: orNull(StreamOptions),
};

export const truncateProperties = {
  truncate_sequence: orNull(
    Type.Boolean({
      description: "Truncate a prompt that exceeds the context instead of returning an error.",
    }),
  ),
};

const SamenessFields = Type.Object(samenessProperties);
const SamplingFields = Type.Object(samplingProperties);
const MaxTokensFields = Type.Object(maxTokensProperties);

/** Sampling parameters of a checked body; absent and null fields take the default. */
export function samplingOf(body: Static<typeof SamplingFields>): SamplingParams {
  const seed = body.seed ?? undefined;
  return {
    ...DEFAULT_SAMPLING,
    ...samplingNumbers(bySamplingName((name, option) => countingValue(body[name], option))),
    logitBias: Object.entries(body.logit_bias ?? {}).map(logitBiasOf),
    dry: dryOf(body),
    ...(seed === undefined ? {} : { seed: foldSeed(seed) }),
  };
}

/** The value of an option that counts. */
function countingValue(sent: number | null | undefined, { neutral, below }: SamplingOption): number {
  return Math.max(below?.countsAs ?? -Infinity, sent ?? neutral);
}

function logitBiasOf([key, bias]: readonly [string, number]): LogitBias {
  const token = Number(key);
  if (token <= TOKEN_ID_MAX) return { token, bias };
  const message = `logit_bias has the key "${key}"; keys must be token ids, at most ${TOKEN_ID_MAX}`;
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

/** Stop strings of a checked body, without duplicates and empty ones. */
export function stopOf(stop: Static<typeof StopTokens> | null | undefined): readonly string[] {
  if (stop === null || stop === undefined) return [];
  return [...new Set(typeof stop === "string" ? [stop] : stop)].filter((one) => one !== "");
}

/** The token cap under either name; throws `contradictory_fields` if they differ. */
export function maxTokensOf(body: Static<typeof MaxTokensFields>): number | undefined {
  const cap = body.max_tokens ?? undefined;
  const alias = body.max_completion_tokens ?? undefined;
  if (cap !== undefined && alias !== undefined && cap !== alias) {
    throw new ServiceError(
      "contradictory_fields",
      `max_tokens ${cap} contradicts max_completion_tokens ${alias}; they are synonyms, send only one of them`,
      { param: "max_completion_tokens" },
    );
  }
  return capTokens(cap ?? alias);
}

/** A token cap clamped to the engine's counters; undefined without one. */
export function capTokens(cap: number | null | undefined): number | undefined {
  return !isPresent(cap) || cap === UNLIMITED ? undefined : Math.min(cap, MAX_TOKENS_MAX);
}

/** Negative and 64-bit seeds are valid on the wire: [-2^63, 2^64) maps into [0, 2^53). */
export function foldSeed(seed: number): number {
  const rest = seed % SEED_RANGE;
  return rest < 0 ? rest + SEED_RANGE : rest;
}
