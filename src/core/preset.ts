// Defaults of requests: of an alias or a model, else what its makers recommend, else svc's. Names are those of the settings.

import { type Static, Type } from "@sinclair/typebox";
import { defined } from "./defined.ts";
import { bySamplingName } from "./sampling.ts";

/** Defaults of requests; a request's own fields win. */
export const Preset = Type.Object({
  ...bySamplingName((_, { text }) => Type.Optional(Type.Number({ description: text }))),
  max_tokens: Type.Optional(Type.Integer({ description: "Most tokens of an answer." })),
  stop: Type.Optional(Type.Array(Type.String(), { description: "Texts that end an answer." })),
  system: Type.Optional(
    Type.String({ description: "Instructions for conversations without any of their own." }),
  ),
  thinking: Type.Optional(Type.Boolean({ description: "Whether the model reasons first." })),
  compact_at: Type.Optional(
    Type.Number({ description: "Share of the context above which old turns become a summary." }),
  ),
  summary_model: Type.Optional(Type.String({ description: "Model that writes these summaries." })),
  thinking_budget: Type.Optional(
    Type.Integer({ minimum: 1, description: "Most reasoning tokens of an answer." }),
  ),
});

type Mutable = Static<typeof Preset>;
export type Preset = Readonly<Omit<Mutable, "stop">> & { readonly stop?: readonly string[] };

/** Whose word a default is, the strongest first: the alias, its model's settings, the model's file, its repository, svc. */
export const PRESET_SOURCES = ["alias", "settings", "file", "repository", "svc"] as const;
export type PresetSource = (typeof PRESET_SOURCES)[number];

/** Defaults by whose word they are. */
export type PresetLayers = Readonly<Partial<Record<PresetSource, Preset>>>;

/** Defaults of a local model without a recommendation. */
export const SVC_PRESET: Preset = defined(bySamplingName((_, { svcDefault }) => svcDefault));

/** Tokens of a base model's answer: nothing but its end of a document ends it. */
export const BASE_ANSWER_TOKENS = 256;

/** The defaults that count: of each field, the strongest word. */
export function presetOfLayers(layers: PresetLayers): Preset {
  const weakestFirst = PRESET_SOURCES.toReversed().map((source) => layers[source] ?? {});
  return Object.assign({}, ...weakestFirst) as Preset;
}

/** Whose word each field of `presetOfLayers` is. */
export function sourcesOfLayers(layers: PresetLayers): Readonly<Record<string, PresetSource>> {
  const pairs = PRESET_SOURCES.toReversed().flatMap((source) =>
    Object.keys(layers[source] ?? {}).map((field) => [field, source] as const),
  );
  return Object.fromEntries(pairs);
}
