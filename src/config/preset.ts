// Defaults of requests: `[models.defaults]`, and `defaults` of an alias.

import { type TSchema, Type } from "@sinclair/typebox";
import type { Preset } from "../core/preset.ts";
import { bySamplingName } from "../core/sampling.ts";
import { integer, list, number, optional, text, tristate } from "./field.ts";

/** Rows of both. */
export const presetRows = {
  ...bySamplingName((_, { text: description, isWhole, range, example }) =>
    optional((isWhole === true ? integer : number)(description, { flag: false, ...range, example })),
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
  compact_at: optional(
    number("Share of the context above which the oldest turns become a summary that the model writes.", {
      flag: false,
      minimum: 0.1,
      maximum: 0.8,
      example: 0.7,
    }),
  ),
  summary_model: optional(
    text("Model that writes these summaries; the one that answers unless set.", {
      flag: false,
      example: "qwen3-0.6b",
    }),
  ),
  thinking_budget: optional(
    integer("Most reasoning tokens of an answer; then the reasoning is ended, and the answer follows.", {
      flag: false,
      minimum: 1,
      example: 2048,
    }),
  ),
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
