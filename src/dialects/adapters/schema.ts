// The wire of the LoRA adapter routes.

import { type Static, Type } from "@sinclair/typebox";
import { ADAPTER_ALIAS_CHARS_MAX } from "../../core/limits.ts";
import { orNull } from "../shared/check.ts";

const CLOSED = { additionalProperties: false } as const;

const common = {
  lora_name: Type.String({
    minLength: 1,
    maxLength: ADAPTER_ALIAS_CHARS_MAX,
    description: "The alias that requests name.",
  }),
  expected_generation: orNull(
    Type.String({ description: "Act only if the alias points to this generation now." }),
  ),
  model: orNull(Type.String({ description: "The base model; `default` or absent takes the default model." })),
};

export const LoadLoraAdapterRequest = Type.Object(
  {
    ...common,
    lora_path: Type.String({
      minLength: 1,
      description: "Folder on the server with adapter_config.json and adapter_model.safetensors.",
    }),
    load_inplace: Type.Optional(
      Type.Boolean({ default: false, description: "Let an alias that exists point to this adapter." }),
    ),
  },
  {
    $id: "LoadLoraAdapterRequest",
    examples: [{ lora_name: "red", lora_path: "/srv/adapters/red" }],
    ...CLOSED,
  },
);

export const UnloadLoraAdapterRequest = Type.Object(
  {
    ...common,
    lora_int_id: orNull(Type.Integer({ minimum: 0, description: "Accepted, without effect." })),
  },
  { $id: "UnloadLoraAdapterRequest", examples: [{ lora_name: "red" }], ...CLOSED },
);

const bytes = Type.Integer({ minimum: 0, description: "Bytes in memory." });
const rank = Type.Integer({ minimum: 0, description: "The largest rank of its modules." });
const generation = Type.String({ description: "Names the content; never changes." });

export const LoraAdapterObject = Type.Object(
  {
    id: Type.String({ description: "The alias." }),
    object: Type.Literal("lora_adapter"),
    generation,
    rank,
    bytes,
    revision: Type.Optional(Type.String()),
    source: Type.Optional(
      Type.String({ description: "Where it came from; only while clients may load adapters." }),
    ),
  },
  { $id: "LoraAdapterObject", description: "A loaded adapter." },
);
export type LoraAdapterObject = Static<typeof LoraAdapterObject>;

const LoraResidentGenerationObject = Type.Object(
  {
    generation,
    aliases: Type.Array(Type.String()),
    rank,
    bytes,
    retired: Type.Boolean({ description: "No alias points to it; it stays for the requests that use it." }),
    active_leases: Type.Integer({ minimum: 0, description: "Requests that use it." }),
  },
  { $id: "LoraResidentGenerationObject", description: "A generation in memory." },
);

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const LoraAdapterListResponse = Type.Object(
  {
    object: Type.Literal("list"),
    data: Type.Array(LoraAdapterObject),
    generations: Type.Array(LoraResidentGenerationObject),
    resident_generations: count("Generations in memory."),
    retired_generations: count("Those of them that no alias points to."),
    resident_bytes: count("Bytes of all of them."),
    max_adapters: count("Most generations in memory."),
    max_rank: count("Highest rank accepted."),
    max_bytes: count("Most bytes of all together."),
  },
  { $id: "LoraAdapterListResponse" },
);
export type LoraAdapterListResponse = Static<typeof LoraAdapterListResponse>;
