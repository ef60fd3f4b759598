// The model that a request names, aliases resolved. Order: model id, adapter card, adapter alias, exact alias, longest
// pattern. So what answers and metrics show is what really answers.

import type { ModelAliases } from "./model-alias.ts";
import type { ModelInfo } from "../core/model-info.ts";

export interface KnownModels {
  readonly models: () => readonly ModelInfo[];
  /** Absent: there are none. */
  readonly aliases?: ModelAliases | undefined;
}

/** Resolves an alias; other names, known or not, stay. */
export function resolvedName({ models, aliases }: KnownModels, name: string, withPatterns: boolean): string {
  if (aliases === undefined || isServed(models(), name)) return name;
  return (withPatterns ? aliases.fitting(name) : aliases.exact(name)) ?? name;
}

/** Whether a model or an adapter has this name. */
export function isServed(models: readonly ModelInfo[], name: string): boolean {
  return models.some(({ id, root }) => id === name || root === name);
}
