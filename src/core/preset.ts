// What answers are like where a request does not say, by the settings of a model or an alias. Names are those of the settings.

import { type Static, Type } from "@sinclair/typebox";

const amount = () => Type.Optional(Type.Number());

/** Defaults of requests; a request's own fields win. */
export const Preset = Type.Object({
  temperature: amount(),
  top_p: amount(),
  top_k: amount(),
  min_p: amount(),
  presence_penalty: amount(),
  frequency_penalty: amount(),
  repetition_penalty: amount(),
  max_tokens: Type.Optional(Type.Integer()),
  stop: Type.Optional(Type.Array(Type.String())),
  /** Instructions for conversations without any of their own. */
  system: Type.Optional(Type.String()),
  /** Whether the model reasons first. */
  thinking: Type.Optional(Type.Boolean()),
});

type Mutable = Static<typeof Preset>;
export type Preset = Readonly<Omit<Mutable, "stop">> & { readonly stop?: readonly string[] };
