// Defaults of requests: `[models.defaults]`, and `defaults` of an alias.

import { type TSchema, Type } from "@sinclair/typebox";
import type { Preset } from "../core/preset.ts";
import { integer, list, number, optional, text, tristate } from "./field.ts";

const penalty = (description: string) =>
  optional(number(description, { flag: false, minimum: -2, maximum: 2, example: 0.5 }));

/** Rows of both. */
export const presetRows = {
  temperature: optional(
    number("Randomness; 0 always takes the most likely token.", {
      flag: false,
      minimum: 0,
      maximum: 2,
      example: 0.7,
    }),
  ),
  top_p: optional(
    number("Samples from the smallest set of tokens whose probabilities sum to this.", {
      flag: false,
      exclusiveMinimum: 0,
      maximum: 1,
      example: 0.8,
    }),
  ),
  top_k: optional(integer("Cap on candidate tokens; 0: none.", { flag: false, minimum: 0, example: 20 })),
  min_p: optional(
    number("Drops tokens less likely than this fraction of the most likely one.", {
      flag: false,
      minimum: 0,
      maximum: 1,
      example: 0.05,
    }),
  ),
  presence_penalty: penalty("Penalizes tokens that already occur in the answer."),
  frequency_penalty: penalty("Penalizes tokens for each occurrence in the answer."),
  repetition_penalty: optional(
    number("Divides the logits of tokens in the prompt or the answer; 1: off.", {
      flag: false,
      exclusiveMinimum: 0,
      example: 1.05,
    }),
  ),
  max_tokens: optional(
    integer("Cap on generated tokens of each answer.", { flag: false, minimum: 1, example: 2048 }),
  ),
  stop: optional(
    list(Type.String({ minLength: 1 }), "Strings that end an answer.", {
      flag: false,
      example: ["</answer>"],
    }),
  ),
  system: optional(
    text("Instructions for conversations that have none of their own.", {
      flag: false,
      example: "You answer in one sentence.",
    }),
  ),
  thinking: optional(tristate("Whether the model reasons first.", { flag: false, example: false })),
} satisfies Record<keyof Preset, TSchema>;

/** Without the keys that are undefined. */
export function presetOf(defaults: { readonly [K in keyof Preset]: Preset[K] | undefined }): Preset {
  return Object.fromEntries(
    Object.keys(presetRows).flatMap((key) => {
      const value = defaults[key as keyof Preset]; // a key of the rows
      return value === undefined ? [] : [[key, value]];
    }),
  );
}
