// What a request may ask of a model, and what is said when it asks the wrong one.

import { assert } from "../core/assert.ts";
import { ServiceError } from "../core/error.ts";
import { modalitiesOf } from "../core/message.ts";
import type { ModelKind } from "../core/model-info.ts";
import type { RuntimeFacts, TextFacts } from "../core/model-runtime.ts";
import type { RunRequest } from "../core/run.ts";

export type Ability = "generates" | "embeds" | "ranks" | "draws" | "speaks";

/** Which kind of model is able to. */
export const KIND_OF: Readonly<Record<Ability, ModelKind>> = {
  generates: "text",
  embeds: "text",
  ranks: "text",
  draws: "image",
  speaks: "speech",
};

/** Where models that are no text models are asked. */
const ROUTES: Readonly<Record<Exclude<ModelKind, "text">, string>> = {
  image: "makes images: use /v1/images/generations",
  speech: "speaks: use /v1/audio/speech",
};

const INABILITIES: Readonly<Record<Ability, string>> = {
  generates:
    "only embeds or ranks texts and cannot continue them. Name another model, or use /v1/embeddings or /v1/rerank.",
  embeds: "gives no embeddings. Name another model.",
  ranks: "does not rank documents. Name a reranking model (a GGUF file with pooling type `rank`).",
  draws: "makes no images. Name an image model.",
  speaks: "does not speak. Name a speech model.",
};

/** Throws ServiceError(unsupported_capability) for a model of another kind than is asked for. */
export function mustBeOfKind(name: string, kind: ModelKind, ability: Ability, param = "model"): void {
  if (kind !== KIND_OF[ability]) throw unable(name, kind, ability, param);
}

/** Throws ServiceError(unsupported_capability) for what a loaded model cannot do. */
export function mustBeAble(name: string, info: RuntimeFacts, ability: Ability): void {
  mustBeOfKind(name, info.kind, ability);
  if (info.kind !== "text") return;
  const { generates, embeds, ranks } = info;
  if (!{ generates, embeds, ranks, draws: false, speaks: false }[ability])
    throw unable(name, "text", ability);
}

/** Throws ServiceError(unsupported_capability) for pictures or recordings that a loaded text model does not take. */
export function mustPerceive(name: string, info: RuntimeFacts, { prompt }: RunRequest): void {
  if (prompt.type !== "chat") return;
  const able = textInfo(info).modalities;
  const missing = modalitiesOf(prompt.messages).find((modality) => !able.includes(modality));
  if (missing === undefined) return;
  const message =
    `The model "${name}" does not take media of the kind "${missing}". ` +
    "Leave them out, name a model that takes them, or give this one a projector file (mmproj).";
  throw new ServiceError("unsupported_capability", message, { param: "messages" });
}

/** The facts of a text model. Only they are asked for; another kind has been refused before. */
export function textInfo<T extends RuntimeFacts>(info: T): Extract<T, TextFacts> {
  assert(info.kind === "text", "a text model is asked for");
  return info as Extract<T, TextFacts>; // TypeScript does not narrow a type parameter by its discriminant
}

/** Nobody serves what `default` is asked for. */
export function noneOfKind(kind: ModelKind, param: string): ServiceError {
  const message = `No ${kind} model is served here, which this needs. See GET /v1/models for those that are.`;
  return new ServiceError("unsupported_capability", message, { param });
}

function unable(name: string, kind: ModelKind, ability: Ability, param = "model"): ServiceError {
  const why = kind === "text" ? INABILITIES[ability] : `${ROUTES[kind]}, or name another model.`;
  return new ServiceError("unsupported_capability", `The model "${name}" ${why}`, { param });
}
