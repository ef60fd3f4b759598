// The model that a request names, aliases resolved. Order: model id, adapter card, adapter alias, exact alias, longest
// pattern. So what answers and metrics show is what really answers.

import type { ModelAlias, ModelAliases } from "./model-alias.ts";
import type { ModelInfo } from "../core/model-info.ts";
import type { Preset } from "../core/preset.ts";

export interface KnownModels {
  readonly models: () => readonly ModelInfo[];
  /** Absent: there are none. */
  readonly aliases?: ModelAliases | undefined;
}

/** What a name stands for. */
export interface ResolvedModel {
  /** The name itself where it is a model's, an adapter's or unknown. */
  readonly name: string;
  /** Defaults of the alias. */
  readonly defaults?: Preset | undefined;
}

/** What a name stands for, with the defaults of its alias. */
export function resolvedModel(known: KnownModels, name: string, withPatterns: boolean): ResolvedModel {
  const { models, aliases } = known;
  if (aliases === undefined || isServed(models(), name)) return { name };
  const alias = withPatterns ? aliases.fitting(name) : aliases.exact(name);
  if (alias === undefined) return { name };
  return { name: targetOf(models(), alias), defaults: alias.defaults };
}

/** The name in `resolvedModel`. */
export function resolvedName(known: KnownModels, name: string, withPatterns: boolean): string {
  return resolvedModel(known, name, withPatterns).name;
}

/** Whether a model or an adapter has this name. */
export function isServed(models: readonly ModelInfo[], name: string): boolean {
  return models.some(({ id, root }) => id === name || root === name);
}

/** The card that a name means; `default`: the first text model. */
export function cardOf(models: readonly ModelInfo[], name: string): ModelInfo | undefined {
  const found = models.find(({ id }) => id === name) ?? models.find(({ root }) => root === name);
  return found ?? (name === "default" ? models.find(({ kind }) => kind === "text") : undefined);
}

/** The model of an alias, or the card of its adapter; a name that is not served where that is not loaded. */
export function targetOf(models: readonly ModelInfo[], { model, adapter }: ModelAlias): string {
  if (adapter === undefined) return model;
  const base = cardOf(models, model);
  const card = models.find(({ parent, root }) => parent === base?.id && root === adapter);
  return card?.id ?? `${model}:${adapter}`;
}
