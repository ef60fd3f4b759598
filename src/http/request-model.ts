// The model of a request as metrics and logs name it, and what its route wants of a model.

import { type Ability, cardOf, DEFAULT_NAME, KIND_OF, type ModelKind } from "../core/model-info.ts";
import { type KnownModels, resolvedName } from "./model-name.ts";

/** `model` of requests whose model is not known (yet), and of routes that have none. Spec: Metrics. */
export const UNKNOWN_MODEL = "unknown";
export const NO_MODEL = "none";

/** What a route wants of a model, where it is no text. */
const ABILITY_OF_ROUTE: ReadonlyMap<string, Ability> = new Map([
  ["/v1/embeddings", "embeds"],
  ["/api/embed", "embeds"],
  ["/api/embeddings", "embeds"],
  ["/v1/rerank", "ranks"],
  ["/v2/rerank", "ranks"],
  ["/rerank", "ranks"],
  ["/v1/images/generations", "draws"],
  ["/v1/audio/speech", "speaks"],
]);

/** Routes that name a model and run none. */
const WITHOUT_RUN: ReadonlySet<string> = new Set([
  "/v1/load_lora_adapter",
  "/v1/unload_lora_adapter",
  "/api/show",
  "/api/pull",
  "/api/delete",
]);

/** What a route wants of the model that a request names. */
export function abilityOf(route = ""): Ability {
  return ABILITY_OF_ROUTE.get(route) ?? "generates";
}

/** The kind of the models that a route runs; undefined: it runs none. */
export function kindOfRuns(route = ""): ModelKind | undefined {
  return WITHOUT_RUN.has(route) ? undefined : KIND_OF[abilityOf(route)];
}

/** A served model's id for what a request names, so that a client's own words never become a label. */
export function modelLabel(known: KnownModels, sent: unknown, ability: Ability): string {
  const name = sent ?? DEFAULT_NAME;
  if (typeof name !== "string") return UNKNOWN_MODEL;
  const models = known.models();
  // Where patterns mean nothing the request fails, and its model is as unknown as its name.
  const meant = resolvedName({ ...known, models: () => models }, name, true);
  const standIn = meant === DEFAULT_NAME ? models[0] : undefined;
  return (cardOf(models, meant, ability) ?? standIn)?.id ?? UNKNOWN_MODEL;
}
