// What a person chooses for the load of one model, beside the configuration: bodies of /v1/models/load_settings, and what is kept of them.

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { CACHE_TYPES } from "./cache-size.ts";

const orNull = (description: string) =>
  Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { description });

/** Takes the place of the configuration's values; what is absent stays as configured. */
export const LoadSettings = Type.Object(
  {
    max_seq_len: Type.Optional(
      Type.Integer({
        minimum: 64,
        maximum: 16_777_216,
        description: "Longest context of one sequence, tokens.",
      }),
    ),
    cache_type: Type.Optional(
      Type.Unsafe<(typeof CACHE_TYPES)[number]>(
        Type.Union(
          CACHE_TYPES.map((type) => Type.Literal(type)),
          { description: "Number format of the cached keys and values." },
        ),
      ),
    ),
    device_layers: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 100_000,
        description: "Layers on devices, the output layer as one.",
      }),
    ),
    threads: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1024, description: "Threads for decode and prefill." }),
    ),
  },
  {
    $id: "LoadSettings",
    description: "Settings of a load; absent ones are those of the configuration.",
    additionalProperties: false,
  },
);
export type LoadSettings = Readonly<Static<typeof LoadSettings>>;

const KeptChoices = Type.Object({
  /** By a model's id and the name of its file: the same name may mean another model in another configuration. */
  load: Type.Array(Type.Object({ model: Type.String(), file: Type.String(), settings: LoadSettings })),
  /** Absolute paths of GGUF files that are served. */
  files: Type.Array(Type.String({ pattern: "^/" })),
});
/** What is kept of these choices. */
export type KeptChoices = Static<typeof KeptChoices>;

/** The choices of a file; undefined where it has other values. */
export function keptChoices(value: unknown): KeptChoices | undefined {
  return Value.Check(KeptChoices, value) ? value : undefined;
}

export const LoadSettingsRequest = Type.Object(
  {
    model_id: Type.String({ minLength: 1, description: "A name that requests accept as `model`." }),
    settings: Type.Optional(LoadSettings),
    dry_run: Type.Optional(
      Type.Boolean({ description: "Only estimate the memory with `settings`; keep what holds." }),
    ),
  },
  {
    $id: "LoadSettingsRequest",
    description: "Without `settings`, what holds is answered. The next load uses what is kept.",
    examples: [{ model_id: "default", settings: { max_seq_len: 8192, cache_type: "q8_0" } }],
  },
);

/** With what a model is loaded, and the memory that it then takes. */
export const LoadPlan = Type.Object(
  {
    model_id: Type.String({ description: "Id of the model's card." }),
    settings: LoadSettings,
    configured: LoadSettings,
    trained_context_length: orNull("Longest context that it was trained for, tokens; null: unknown."),
    layers: orNull("Its layers, the output layer as one; null: unknown."),
    threads: Type.Integer({ minimum: 1, description: "Threads where none are chosen or configured." }),
    has_devices: Type.Boolean({ description: "Whether an accelerator was found." }),
    memory_bytes: orNull("The most memory that it takes with `settings`, estimated; null: unknown."),
    memory_free_bytes: Type.Integer({ minimum: 0, description: "Memory that is free now." }),
  },
  { $id: "LoadPlan", description: "With what a model is loaded, and the memory that it then takes." },
);
export type LoadPlan = Static<typeof LoadPlan>;

export const AddedFileRequest = Type.Object(
  {
    path: Type.String({
      minLength: 1,
      maxLength: 4096,
      description:
        "Absolute path of a GGUF file on the server's machine; `~/` is the home folder of its user.",
    }),
  },
  {
    $id: "AddedFileRequest",
    description: "Names a file to serve.",
    examples: [{ path: "/data/models/qwen3-4b-q4_k_m.gguf" }],
  },
);

export const AddedFile = Type.Object(
  { id: Type.String({ description: "Name of the model." }), object: Type.Literal("hub.file") },
  { $id: "AddedFile", description: "A model whose file was added by its path." },
);
export const ForgottenFile = Type.Object(
  { id: Type.String({ description: "Name of the model, as GET /v1/hub/files lists it." }) },
  {
    $id: "ForgottenFile",
    description: "Names a model whose file is no longer served.",
    examples: [{ id: "qwen3-4b-q4_k_m" }],
  },
);
export const AddedFiles = Type.Object(
  { object: Type.Literal("list"), data: Type.Array(AddedFile) },
  { $id: "AddedFiles", description: "Models whose files were added by their paths." },
);

/** What clients who may change the models can choose for them beside the configuration. Throws ServiceError. */
export interface ModelChanges {
  /** With what a model is loaded, or would be with `settings`, and the memory that this takes. */
  planLoad(name: string, settings?: LoadSettings): Promise<LoadPlan>;
  /** Keeps settings for the loads to come. */
  keepLoad(name: string, settings: LoadSettings): void;
  /** Serves a file from now on, after a restart too; returns its model's id. */
  addFile(path: string): string;
  /** Ids of the models of such files. */
  addedFiles(): readonly string[];
  /** Serves the file of a model no more, and leaves it where it is. */
  forgetFile(id: string): void;
}

/** The load of one model. */
export interface LoadControl {
  /** With the settings that are kept, or with others. Rejects with ServiceError. */
  plan(settings?: LoadSettings): Promise<Omit<LoadPlan, "model_id">>;
  /** Keeps settings for the loads to come; none: the configuration's alone. Throws ServiceError. */
  keep(settings: LoadSettings): void;
}
