// Wire schemas of the LoRA adapter routes.

import { type Static, Type } from "@sinclair/typebox";
import { count, orNull } from "../../core/schema-fields.ts";
import { ADAPTER_ALIAS_CHARS_MAX } from "../shared/limits.ts";

const CLOSED = { additionalProperties: false } as const;

const common = {
  lora_name: Type.String({
    minLength: 1,
    maxLength: ADAPTER_ALIAS_CHARS_MAX,
    description: "Alias by which requests select the adapter.",
  }),
  expected_generation: orNull(
    Type.String({ description: "Fail unless the alias currently points to this generation." }),
  ),
  model: orNull(Type.String({ description: "Base model; `default` or absent selects the default model." })),
};

export const LoadLoraAdapterRequest = Type.Object(
  {
    ...common,
    lora_path: Type.String({
      minLength: 1,
      description: "Folder on the server with adapter_config.json and adapter_model.safetensors.",
    }),
    load_inplace: Type.Optional(
      Type.Boolean({ default: false, description: "Allow an existing alias to be moved to this adapter." }),
    ),
  },
  {
    $id: "LoadLoraAdapterRequest",
    description: "Body of a request to load an adapter.",
    examples: [{ lora_name: "red", lora_path: "/srv/adapters/red" }],
    ...CLOSED,
  },
);

export const UnloadLoraAdapterRequest = Type.Object(
  {
    ...common,
    lora_int_id: orNull(Type.Integer({ minimum: 0, description: "Accepted without effect." })),
  },
  {
    $id: "UnloadLoraAdapterRequest",
    description: "Body of a request to unload an adapter.",
    examples: [{ lora_name: "red" }],
    ...CLOSED,
  },
);

const bytes = Type.Integer({ minimum: 0, description: "Size in memory, bytes." });
const rank = Type.Integer({ minimum: 0, description: "Largest rank of the adapter's modules." });
const generation = Type.String({ description: "Immutable id of the adapter's content." });

export const LoraAdapterObject = Type.Object(
  {
    id: Type.String({ description: "The alias." }),
    object: Type.Literal("lora_adapter"),
    generation,
    rank,
    bytes,
    revision: Type.Optional(Type.String({ description: "Revision of the repository it came from." })),
    source: Type.Optional(
      Type.String({ description: "Origin of the adapter; only if clients may load adapters." }),
    ),
  },
  { $id: "LoraAdapterObject", description: "A loaded adapter." },
);
export type LoraAdapterObject = Static<typeof LoraAdapterObject>;

const LoraResidentGenerationObject = Type.Object(
  {
    generation,
    aliases: Type.Array(Type.String(), { description: "Names that lead to it." }),
    rank,
    bytes,
    retired: Type.Boolean({
      description: "No alias points to it; it is unloaded when its last lease is released.",
    }),
    active_leases: Type.Integer({ minimum: 0, description: "Requests that use the generation." }),
  },
  { $id: "LoraResidentGenerationObject", description: "A generation in memory." },
);

export const LoraAdapterListResponse = Type.Object(
  {
    object: Type.Literal("list"),
    data: Type.Array(LoraAdapterObject),
    generations: Type.Array(LoraResidentGenerationObject),
    resident_generations: count("Generations in memory."),
    retired_generations: count("Generations in memory without an alias."),
    resident_bytes: count("Size of all generations in memory, bytes."),
    max_adapters: count("Cap on generations in memory."),
    max_rank: count("Cap on the rank of an adapter."),
    max_bytes: count("Cap on `resident_bytes`."),
  },
  { $id: "LoraAdapterListResponse", description: "Adapters of a model." },
);
export type LoraAdapterListResponse = Static<typeof LoraAdapterListResponse>;
