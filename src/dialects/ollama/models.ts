// Response bodies of /api/tags, /api/show and /api/ps.

import { type Static, Type } from "@sinclair/typebox";
import { defined } from "../../core/defined.ts";
import { count } from "../../core/schema-fields.ts";
import { rfc3339 } from "../../core/time.ts";
import { textDigest } from "../../core/digest.ts";
import type { ModelFileFacts, ModelInfo } from "../../core/model-info.ts";
import { checker } from "../shared/check.ts";
import { OllamaShowRequest } from "./schema.ts";

const OllamaDetails = Type.Object(
  {
    parent_model: Type.String({ description: "Base model of an adapter." }),
    format: Type.String({ description: "Format of the file." }),
    family: Type.String({ description: "Architecture." }),
    families: Type.Array(Type.String(), { description: "The family, as a list." }),
    parameter_size: Type.String({
      description: "For example `0.6B`: as the file names it, else by its number of parameters.",
    }),
    quantization_level: Type.String({ description: "For example `Q4_K_M`." }),
  },
  { $id: "OllamaDetails", description: "Kind and size of a model." },
);
type OllamaDetails = Static<typeof OllamaDetails>;

const cardProperties = {
  name: Type.String({ description: "Value for `model` in requests." }),
  model: Type.String({ description: "The same as `name`." }),
  size: count("Bytes of the weights; 0 for a model of another server."),
  digest: Type.String({ description: "SHA-256 of the name; unique per model, but not a hash of a file." }),
  details: OllamaDetails,
};

const OllamaModel = Type.Object(
  { ...cardProperties, modified_at: Type.String({ description: "ISO 8601." }) },
  { $id: "OllamaModel", description: "A served model." },
);

export const OllamaTagsResponse = Type.Object(
  { models: Type.Array(OllamaModel) },
  { $id: "OllamaTagsResponse", description: "The served text models, the default model first." },
);
type OllamaTagsResponse = Static<typeof OllamaTagsResponse>;

const OllamaRunningModel = Type.Object(
  {
    ...cardProperties,
    expires_at: Type.String({ description: "Time at which it is unloaded if it stays idle; ISO 8601." }),
    size_vram: count("Always 0: weights are in main memory."),
    context_length: count("Context length, tokens."),
  },
  { $id: "OllamaRunningModel", description: "A loaded model." },
);

export const OllamaPsResponse = Type.Object(
  { models: Type.Array(OllamaRunningModel) },
  { $id: "OllamaPsResponse", description: "The loaded text models." },
);
type OllamaPsResponse = Static<typeof OllamaPsResponse>;

const CAPABILITIES = ["completion", "tools", "thinking", "vision", "audio", "insert", "embedding"] as const;
type Capability = (typeof CAPABILITIES)[number];
const Capability = Type.Union(CAPABILITIES.map((name) => Type.Literal(name)));

export const OllamaShowResponse = Type.Object(
  {
    details: OllamaDetails,
    model_info: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]), {
      description:
        "Values of the file's header, `general.parameter_count`, and `{architecture}.context_length`: as configured on this server once the model has been loaded.",
    }),
    capabilities: Type.Array(Capability, {
      description: "Until the model has been loaded, what its file tells of them.",
    }),
    parameters: Type.String({ description: "Options of the model, one per line: `num_ctx`." }),
    template: Type.String({ description: "Always empty." }),
    modified_at: Type.String({ description: "ISO 8601." }),
  },
  { $id: "OllamaShowResponse", description: "Description of a model." },
);
type OllamaShowResponse = Static<typeof OllamaShowResponse>;

/**
 * The version of Ollama whose protocol these routes speak. Clients compare it with the oldest that they work with, of which this
 * is at least the newest known: Codex wants 0.13.4, the version with `/v1/responses`.
 */
const PROTOCOL_VERSION = "0.13.5";

export const OllamaVersionResponse = Type.Object(
  {
    version: Type.String({ description: "The version of Ollama whose protocol is spoken." }),
    svc_version: Type.String({ description: "Version of svc." }),
  },
  { $id: "OllamaVersionResponse", description: "Versions of protocol and server." },
);
type OllamaVersionResponse = Static<typeof OllamaVersionResponse>;

/** The body of /api/version. */
export function versionBody(version: string): OllamaVersionResponse {
  return { version: PROTOCOL_VERSION, svc_version: version };
}

const checkShow = checker(OllamaShowRequest);

/** Parses the body of /api/show and returns the model name. Throws ServiceError. */
export function parseOllamaShow(json: Readonly<Record<string, unknown>>): string {
  const { model, name } = checkShow(json);
  return model ?? name ?? "default";
}

/** A model with the facts of its file, where it has one on this machine. */
export interface FiledModel extends Omit<ModelInfo, "file"> {
  readonly facts?: ModelFileFacts | undefined;
}

/** The body of /api/tags. */
export function tagsBody(models: readonly FiledModel[]): OllamaTagsResponse {
  return {
    models: models.map((model) => ({ ...cardOf(model), modified_at: isoOf(model.created * 1000) })),
  };
}

/** A loaded model, and the time at which it is unloaded if it stays idle, Unix milliseconds; Infinity: never. */
export interface RunningModel {
  readonly model: FiledModel;
  readonly expiresMs: number;
}

/** The body of /api/ps. */
export function psBody(running: readonly RunningModel[]): OllamaPsResponse {
  return {
    models: running.map(({ model, expiresMs }) => ({
      ...cardOf(model),
      expires_at: isoOf(Math.min(expiresMs, FAR_MS)),
      size_vram: 0,
      context_length: model.contextTokens ?? 0,
    })),
  };
}

/** The body of /api/show. */
export function showBody(model: FiledModel): OllamaShowResponse {
  const { contextTokens, weights, facts } = model;
  const architecture = weights?.architecture ?? facts?.architecture;
  return {
    details: detailsOf(model),
    model_info: {
      ...facts?.card?.metadata,
      ...defined({ "general.architecture": architecture, "general.parameter_count": facts?.parameters }),
      ...(contextTokens === undefined
        ? {}
        : { [`${architecture ?? "model"}.context_length`]: contextTokens }),
    },
    capabilities: capabilitiesOf(model),
    parameters: contextTokens === undefined ? "" : `num_ctx ${contextTokens}`,
    template: "",
    modified_at: isoOf(model.created * 1000),
  };
}

/** Expiry date of a model that is never unloaded: the last day with a four-digit year, which clients can parse. */
const FAR_MS = Date.UTC(9999, 11, 31);

function isoOf(ms: number): string {
  return rfc3339(ms / 1000);
}

function cardOf(model: FiledModel) {
  const { id, weights, facts } = model;
  return {
    name: id,
    model: id,
    size: facts?.sizeBytes ?? weights?.sizeBytes ?? 0,
    digest: textDigest(id),
    details: detailsOf(model),
  };
}

function detailsOf({ parent, weights, facts }: FiledModel): OllamaDetails {
  const family = weights?.architecture ?? facts?.architecture ?? "";
  const described = sizesOf(weights?.description ?? "");
  return {
    parent_model: parent ?? "",
    format: "gguf",
    family,
    families: family === "" ? [] : [family],
    parameter_size: facts === undefined ? described.parameter_size : sizeLabel(facts),
    quantization_level: facts?.quantization ?? described.quantization_level,
  };
}

/** The size that the file names, else its number of parameters in the usual form. */
function sizeLabel({ parameters, card }: ModelFileFacts): string {
  const named = card?.metadata["general.size_label"];
  if (typeof named === "string" && named !== "") return named;
  const [unit, letter] = parameters >= 1e9 ? [1e9, "B"] : parameters >= 1e6 ? [1e6, "M"] : [1e3, "K"];
  const size = parameters / unit;
  return `${size < 10 ? Number(size.toFixed(1)) : Math.round(size)}${letter}`;
}

/** llama.cpp describes a model as `qwen3 0.6B Q4_K - Medium`. */
function sizesOf(description: string): Pick<OllamaDetails, "parameter_size" | "quantization_level"> {
  const [, size = "", type = ""] = /([\d.]\S*[BMKT]) (\S.*)$/.exec(description) ?? [];
  return { parameter_size: size, quantization_level: type.replace(/ - ([SML]).*$/, "_$1") };
}

function capabilitiesOf({ facts, ...model }: FiledModel): Capability[] {
  const { abilities = facts?.card?.abilities, modalities = facts?.card?.modalities ?? [] } = model;
  if (abilities === undefined) return [];
  const { generates, embeds, fillsGaps, thinks, isBase } = abilities;
  const able: Readonly<Record<Capability, boolean>> = {
    completion: generates,
    tools: generates && isBase !== true, // templates without their own call format are given one
    thinking: thinks,
    vision: modalities.includes("image"),
    audio: modalities.includes("audio"),
    insert: fillsGaps,
    embedding: embeds && !generates, // clients leave models with both out of their lists of chat models
  };
  return CAPABILITIES.filter((name) => able[name]);
}
