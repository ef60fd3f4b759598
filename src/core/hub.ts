// Models of the hub as clients see them: the bodies of /v1/hub, which the command line prints too. Never a path of the machine.

import { type Static, Type } from "@sinclair/typebox";
import { bytes, nullable } from "./schema-fields.ts";

const seconds = (description: string) =>
  Type.Integer({ minimum: 0, description: `${description}, Unix seconds.` });
const words = <const T extends readonly string[]>(names: T, options: { $id?: string; description: string }) =>
  Type.Unsafe<T[number]>(
    Type.Union(
      names.map((name) => Type.Literal(name)),
      options,
    ),
  );

const repositoryProperties = {
  id: Type.String({ description: "`owner/name`." }),
  object: Type.Literal("hub.repository"),
  access: words(["public", "gated", "private"], {
    description: "`gated` and `private` repositories need a token; see `svc login`.",
  }),
  downloads: Type.Integer({
    minimum: 0,
    description: "Downloads of the last month, as the hub counts them.",
  }),
  likes: Type.Integer({ description: "Likes at the hub.", minimum: 0 }),
  updated_at: seconds("Last change"),
  license: nullable(Type.String(), "As the repository states it."),
  task: nullable(Type.String(), "The hub's word for what the model is for: `text-generation`."),
  architecture: nullable(Type.String(), "llama.cpp's name of the architecture: `qwen3`."),
  parameters: nullable(Type.Integer({ minimum: 0 }), "Number of parameters."),
  context_length: nullable(
    Type.Integer({ minimum: 0 }),
    "Longest context that the model was trained for, tokens.",
  ),
  tags: Type.Array(Type.String(), { description: "Labels at the hub." }),
  downloaded: Type.Boolean({ description: "Some model of it is on this machine." }),
};

/** A repository in search results. */
export const HubRepository = Type.Object(repositoryProperties, {
  $id: "HubRepository",
  description: "A repository with GGUF files.",
});
export type HubRepository = Static<typeof HubRepository>;

export const HubSearchResponse = Type.Object(
  { object: Type.Literal("list"), data: Type.Array(HubRepository) },
  { $id: "HubSearchResponse", description: "Models found at the hub." },
);
export type HubSearchResponse = Static<typeof HubSearchResponse>;

const FITS = ["fits", "tight", "too_large", "unknown"] as const;
export type HubFit = (typeof FITS)[number];

/** What the weights keep of the model as it was trained, by the bits of their type. */
export const QUALITIES = ["full", "high", "good", "reduced", "poor", "unknown"] as const;
export type HubQuality = (typeof QUALITIES)[number];

const HubFile = Type.Object(
  {
    path: Type.String({ description: "Path within the repository." }),
    size_bytes: bytes("Size"),
    role: words(["model", "projector", "draft", "adapter", "importance", "other"], {
      description: "What it is for, by its name.",
    }),
  },
  { $id: "HubFile", description: "A file of a repository." },
);

const HubModelChoice = Type.Object(
  {
    id: Type.String({
      description: "`source` of a pull, and name of the model afterwards: `owner/name:Q4_K_M`.",
    }),
    quantization: nullable(Type.String(), "Type of the weights, by the file's name."),
    files: Type.Array(Type.String(), { description: "Paths: one, or the parts of a split file." }),
    size_bytes: bytes("Size of these files"),
    projector: nullable(Type.String(), "Projector for images and audio that is downloaded with it."),
    draft: nullable(Type.String(), "Draft model that is downloaded with it."),
    download_bytes: bytes("What a pull still downloads, projector and draft model included"),
    memory_bytes: nullable(
      Type.Integer({ minimum: 0 }),
      "Estimated memory of the loaded model with the settings of this server, bytes; null where the file does not tell.",
    ),
    loaded_bytes: nullable(
      Type.Integer({ minimum: 0 }),
      "Estimated memory right after a load, while the cache is empty, bytes; null where the file does not tell.",
    ),
    fit: words(FITS, {
      description:
        "`fits`: into the memory that is free now. `tight`: into the memory of the machine, once other models and programs leave it. `too_large`: not into this machine.",
    }),
    quality: words(QUALITIES, {
      description:
        "By the bits of the weights: `full` 16 or more, `high` 6 or 8 (hard to tell from full), `good` 4 or 5, `reduced` 3, `poor` fewer.",
    }),
    memory: Type.Array(
      Type.Object({
        context_tokens: Type.Integer({ minimum: 1, description: "Tokens of the cache." }),
        memory_bytes: bytes("Memory once all of it is in use, weights and process included"),
      }),
      {
        description:
          "Estimated memory at 4,096, 8,192, 32,768 and the most tokens; empty where the file does not tell.",
      },
    ),
    context_fits: nullable(
      Type.Integer({ minimum: 0 }),
      "Longest context that fits the memory that is free now and the cards, tokens; 0: not even the weights; null where the file does not tell.",
    ),
    layers: nullable(Type.Integer({ minimum: 0 }), "Layers of the model; the output layer is one."),
    device_layers: nullable(Type.Integer({ minimum: 0 }), "Those that fit the cards, at 8,192 tokens."),
    tokens_per_second: nullable(
      Type.Object({
        expected: Type.Number({ description: "What is most likely." }),
        low: Type.Number({ description: "Least that is likely." }),
        high: Type.Number({ description: "Most that is likely." }),
      }),
      "Expected speed of one answer, from the measured speed of this machine's memory; null where that is unknown, and for layers on a card.",
    ),
    is_default: Type.Boolean({
      description: "What `owner/name` alone means: the recommended model, or the one that is downloaded.",
    }),
    downloaded: Type.Boolean({ description: "All its files are on this machine." }),
  },
  { $id: "HubModelChoice", description: "A model of a repository: a file, or the parts of a split one." },
);
export type HubModelChoice = Static<typeof HubModelChoice>;

/** The room for models on this machine. */
const HubMachine = Type.Object(
  {
    memory_total_bytes: bytes("Memory that models can have at most"),
    memory_free_bytes: bytes("Memory that is free now"),
    disk_free_bytes: bytes("Free space of the disk with the models, less the reserve that stays free"),
    models_bytes: bytes("Size of all downloaded files"),
    models_max_bytes: nullable(Type.Integer({ minimum: 0 }), "Setting of the same name; null: no limit."),
  },
  { $id: "HubMachine", description: "Room of this machine for models." },
);
export type HubMachine = Static<typeof HubMachine>;

const HubEstimate = Type.Object(
  {
    recommended: nullable(
      Type.String(),
      "`id` of the model to use on this machine; null where none can be named.",
    ),
    reason: Type.String({ description: "Why, for people." }),
    memory_bytes_per_second: nullable(
      Type.Number(),
      "Measured speed of main memory, bytes; null where it could not be measured.",
    ),
    devices: Type.Array(
      Type.Object({
        name: Type.String({ description: "As engines call it." }),
        memory_bytes: bytes("What models may take of it"),
      }),
      {
        description: "Accelerators of this machine.",
      },
    ),
  },
  { $id: "HubEstimate", description: "What fits this machine, and what it was computed from." },
);
export type HubEstimate = Static<typeof HubEstimate>;

export const HubRepositoryDetails = Type.Object(
  {
    ...repositoryProperties,
    revision: Type.String({ description: "The revision that was asked for; `main` unless named." }),
    commit: Type.String({ description: "Commit of the hub that was read." }),
    models: Type.Array(HubModelChoice, { description: "The smallest first." }),
    files: Type.Array(HubFile, { description: "All files, by path." }),
    machine: HubMachine,
    estimate: HubEstimate,
  },
  {
    $id: "HubRepositoryDetails",
    description: "A repository with its models, and whether they fit this machine.",
  },
);
export type HubRepositoryDetails = Static<typeof HubRepositoryDetails>;

const InstalledModel = Type.Object(
  {
    id: Type.String({ description: "`owner/name:Q4_K_M`: what DELETE /v1/hub/models/{id} takes." }),
    object: Type.Literal("hub.model"),
    repository: Type.String({ description: "`owner/name`; of a model from a URL: its host and path." }),
    commit: Type.String({ description: "Commit of the hub that was downloaded." }),
    quantization: nullable(Type.String(), "Type of the weights, by the file's name."),
    files: Type.Array(Type.String(), { description: "Names of its files." }),
    size_bytes: bytes("Size of these files"),
    projector: nullable(Type.String(), "File of the projector in use."),
    draft: nullable(Type.String(), "File of the draft model in use."),
    used_at: seconds("Last read or write of its files"),
    served_as: nullable(
      Type.String(),
      "Its id at GET /v1/models; null where no model of this server uses it.",
    ),
    is_removable: Type.Boolean({
      description:
        "False for a model of the configuration, or one that answers a request: DELETE is refused.",
    }),
  },
  { $id: "HubInstalledModel", description: "A model on this machine." },
);
export type HubInstalledModel = Static<typeof InstalledModel>;

export const HubInstalledResponse = Type.Object(
  { object: Type.Literal("list"), data: Type.Array(InstalledModel), machine: HubMachine },
  { $id: "HubInstalledResponse", description: "Models on this machine." },
);
export type HubInstalledResponse = Static<typeof HubInstalledResponse>;

export const HubDeletedModel = Type.Object(
  {
    id: Type.String({ description: "What was deleted." }),
    object: Type.Literal("hub.model"),
    deleted: Type.Literal(true),
    freed_bytes: bytes("Size of deleted contents"),
  },
  { $id: "HubDeletedModel", description: "What a deletion freed." },
);
export type HubDeletedModel = Static<typeof HubDeletedModel>;

const companion = (what: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      default: "auto",
      description: `${what} to download with the model: \`auto\` (by name, if there is one), \`none\`, or a file of the repository.`,
    }),
  );

export const HubPullRequest = Type.Object(
  {
    source: Type.String({
      minLength: 1,
      maxLength: 2048,
      description:
        "`owner/name`, `owner/name:Q4_K_M`, `owner/name:file.gguf`, each with `@revision` after the name; the address of such a file on the hub; or the https URL of a GGUF file elsewhere.",
    }),
    stream: Type.Optional(
      Type.Boolean({
        default: true,
        description: "Answer with server-sent events until the pull ends; false: at once, with its state.",
      }),
    ),
    projector: companion("Projector"),
    draft: companion("Draft model"),
    sha256: Type.Optional(
      Type.String({
        pattern: "^[0-9a-f]{64}$",
        description: "Of a URL: hash that the file must have. Files of the hub are always verified.",
      }),
    ),
  },
  {
    $id: "HubPullRequest",
    description: "Body of a request to download a model.",
    additionalProperties: false,
    examples: [{ source: "Qwen/Qwen3-0.6B-GGUF:Q8_0" }],
  },
);
export type HubPullRequest = Static<typeof HubPullRequest>;

export const PULL_STATUSES = ["queued", "downloading", "paused", "completed", "failed"] as const;
export type PullStatus = (typeof PULL_STATUSES)[number];

const PullFile = Type.Object(
  {
    path: Type.String({ description: "Name of the file." }),
    size_bytes: bytes("Size"),
    completed_bytes: bytes("Downloaded so far"),
    sha256: Type.Optional(Type.String({ description: "Hash of the content, where it is known before." })),
  },
  { $id: "HubPullFile", description: "A file of a download." },
);

export const HubPull = Type.Object(
  {
    id: Type.String({ description: "Id of the pull: `pull_…`." }),
    object: Type.Literal("hub.pull"),
    source: Type.String({ description: "As it was asked for." }),
    model: Type.String({ description: "Name of the model once it is there: `owner/name:Q4_K_M`." }),
    status: words(PULL_STATUSES, {
      description:
        "`queued`: it waits for others. `paused`: until the same source is pulled again. `completed`: the model can be used.",
    }),
    total_bytes: bytes("Size of all files"),
    completed_bytes: bytes("Downloaded so far, what was there before included"),
    bytes_per_second: Type.Integer({
      minimum: 0,
      description: "Of the last seconds; 0 unless it downloads.",
    }),
    seconds_left: nullable(Type.Integer({ minimum: 0 }), "At that speed; null unless it downloads."),
    files: Type.Array(PullFile),
    created_at: seconds("Start"),
    error: nullable(
      Type.Object({
        code: Type.String({ description: "Error code, for programs." }),
        message: Type.String({ description: "What is wrong and how to fix it, for people." }),
      }),
      "Why it has failed; null otherwise.",
    ),
  },
  {
    $id: "HubPull",
    description:
      "A download. As a stream, each event holds the whole object, and its `event` is `pull.` with the status: `pull.downloading`. The stream ends with `pull.completed`, `pull.paused` or `pull.failed`.",
  },
);
export type HubPull = Static<typeof HubPull>;

export const HubPullList = Type.Object(
  { object: Type.Literal("list"), data: Type.Array(HubPull) },
  { $id: "HubPullList", description: "The newest first." },
);

export const HubDeletedPull = Type.Object(
  {
    id: Type.String({ description: "Id of the download." }),
    object: Type.Literal("hub.pull"),
    deleted: Type.Literal(true),
  },
  { $id: "HubDeletedPull", description: "A download that was stopped." },
);

export const HUB_SORTS = ["downloads", "likes", "updated", "trending"] as const;

/** A search of the hub. */
export interface HubQuery {
  readonly text: string;
  readonly sort: (typeof HUB_SORTS)[number];
  readonly limit: number;
}

/** A pull that a client watches. */
export interface WatchedPull {
  now(): HubPull;
  /** Its states from now on, newest only, until it ends or pauses. */
  states(signal: AbortSignal): AsyncGenerator<HubPull>;
}

/** What clients may do with models of the hub. Throws ServiceError. */
export interface Hub {
  search(query: HubQuery, signal: AbortSignal): Promise<readonly HubRepository[]>;
  /** `name`: `owner/name`, with `@revision` or not. */
  repository(name: string, signal: AbortSignal): Promise<HubRepositoryDetails>;
  installed(): HubInstalledResponse;
  /** Deletes a model from the cache and from the served models. */
  remove(name: string): Promise<HubDeletedModel>;
  /** Starts a pull, resumes a paused one, or joins the one that downloads the same. Resolves once its files are known. */
  pull(request: HubPullRequest, signal: AbortSignal): Promise<WatchedPull>;
  pulls(): readonly HubPull[];
  pullOf(id: string): WatchedPull;
  /** Stops a pull and keeps what it has downloaded. */
  pause(id: string): Promise<HubPull>;
  /** The client of a pull has left: without another one that watches it, it is paused. */
  leave(id: string): void;
  /** Stops a pull and deletes what it has downloaded. */
  discard(id: string): Promise<void>;
}
