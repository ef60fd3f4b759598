// `svc run -m NAME` where NAME is an alias, or the alias of a configured model: the chat begins with it, and the models are those of the
// other settings.

import { existsSync } from "node:fs";
import { resolve as resolvePath } from "node:path";
import { isObject } from "../core/json.ts";
import type { RawValue } from "./sources.ts";

/** The flags, with `-m NAME` as the name that it is. A file of that name is the file. */
export function withNamedAlias(
  flags: readonly RawValue[],
  others: readonly RawValue[],
  folder: string,
): readonly RawValue[] {
  const models = flags.filter(({ path }) => path.endsWith(".model_id"));
  const [named] = models;
  if (typeof named?.value !== "string" || models.length > 1) return flags;
  if (existsSync(resolvePath(folder, named.value))) return flags;
  const { value: name } = named;
  const known = [...others, ...flags];
  const path = known.some(({ path: at, value }) => at === "aliases" && namesIn(value).includes(name))
    ? "assistant"
    : "default_model_id";
  const isModel = known.some(({ path: at, value }) => /^models\[\d+\]\.alias$/.test(at) && value === name);
  if (path !== "assistant" && !isModel) return flags;
  // The flag's entry of its own would take the place of the file's first model.
  const rest = flags.filter(({ path: at }) => !/^models\[0\](?:\.model_id)?$/.test(at));
  return [...rest, { ...named, path }];
}

function namesIn(aliases: unknown): readonly string[] {
  if (!Array.isArray(aliases)) return [];
  return aliases.flatMap((entry: unknown): readonly string[] => {
    if (typeof entry === "string") return [entry.slice(0, Math.max(0, entry.indexOf("=")))];
    return isObject(entry) && typeof entry["name"] === "string" ? [entry["name"]] : [];
  });
}
