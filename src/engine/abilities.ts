// Which kinds of models serve which requests, and the errors for requests to the wrong model.

import { assert } from "../core/assert.ts";
import { ServiceError } from "../core/error.ts";
import { modalitiesOf } from "../core/message.ts";
import { type Ability, KIND_OF, type ModelKind } from "../core/model-info.ts";
import type { RuntimeFacts, TextFacts } from "../core/model-runtime.ts";
import type { RunRequest } from "../core/run.ts";

/** Purposes and routes of other kinds of models. */
const ROUTES: Readonly<Record<Exclude<ModelKind, "text">, string>> = {
  image: "generates images: use /v1/images/generations",
  speech: "is a speech model: use /v1/audio/speech",
};

const INABILITIES: Readonly<Record<Ability, string>> = {
  generates:
    "only embeds or reranks texts; name a model that generates text, or use /v1/embeddings or /v1/rerank",
  embeds: "gives no embeddings; name an embedding model",
  ranks: "does not rank documents; name a reranking model (a GGUF file with pooling type `rank`)",
  draws: "generates no images; name an image model",
  speaks: "is not a speech model; name a speech model",
};

/** Throws ServiceError(unsupported_capability) for a model of the wrong kind. */
export function mustBeOfKind(name: string, kind: ModelKind, ability: Ability, param = "model"): void {
  if (kind !== KIND_OF[ability]) throw unable(name, kind, ability, param);
}

/** Throws ServiceError(unsupported_capability) for an ability that a loaded model lacks. */
export function mustBeAble(name: string, info: RuntimeFacts, ability: Ability): void {
  mustBeOfKind(name, info.kind, ability);
  if (info.kind !== "text") return;
  const { generates, embeds, ranks } = info;
  if (!{ generates, embeds, ranks, draws: false, speaks: false }[ability])
    throw unable(name, "text", ability);
}

/** Throws ServiceError(unsupported_capability) for images or audio that a loaded text model does not take. */
export function mustPerceive(name: string, info: RuntimeFacts, { prompt }: RunRequest): void {
  if (prompt.type !== "chat") return;
  const able = textInfo(info).modalities;
  const missing = modalitiesOf(prompt.messages).find((modality) => !able.includes(modality));
  if (missing === undefined) return;
  const message =
    `the model "${name}" does not accept ${missing} input; ` +
    `remove it, name a model that accepts ${missing}, or configure a projector file (mmproj) for this one`;
  throw new ServiceError("unsupported_capability", message, { param: "messages" });
}

/** The facts of a text model. Callers have rejected other kinds before. */
export function textInfo<T extends RuntimeFacts>(info: T): Extract<T, TextFacts> {
  assert(info.kind === "text", "only text models have text facts");
  return info as Extract<T, TextFacts>; // TypeScript does not narrow a type parameter by its discriminant
}

/** `default` names a kind that has no served model. */
export function noneOfKind(kind: ModelKind, param: string): ServiceError {
  const message = `no ${kind} model is served, but this request needs one; GET /v1/models lists the served models`;
  return new ServiceError("unsupported_capability", message, { param });
}

function unable(name: string, kind: ModelKind, ability: Ability, param = "model"): ServiceError {
  const why = kind === "text" ? INABILITIES[ability] : `${ROUTES[kind]}, or name another model`;
  return new ServiceError("unsupported_capability", `the model "${name}" ${why}`, { param });
}
