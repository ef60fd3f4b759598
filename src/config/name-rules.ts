// Start-up rules of names: each name that clients use stands for one model or adapter that there is.

import { isAbsolute } from "node:path";
import { parseHubId } from "../core/hub-id.ts";
import { type AliasEntry, aliasParts } from "./alias-entry.ts";
import { type LoraEntry, loraParts } from "./lora-entry.ts";
import { type Problem, problemOf } from "./problem.ts";
import { SEARCH_MODEL_NAME } from "./settings.ts";
import type { RawValue } from "./sources.ts";

type Values = ReadonlyMap<string, RawValue>;

/** Problems of names. */
export function nameProblems(values: Values, entries: readonly string[]): readonly Problem[] {
  return [
    ...sameName(values, entries),
    ...reservedName(values, entries),
    ...unprintableName(values, entries),
    ...defaultModel(values, entries),
    ...searchModel(values, entries),
    ...sameAlias(values, entries),
    ...modelAliases(values, entries),
  ];
}

/** Clients choose a model by its name, so two entries cannot share one. */
function sameName(values: Values, entries: readonly string[]): readonly Problem[] {
  const seen = new Map<string, string>();
  return entries.flatMap((entry) => {
    const id = values.get(`${entry}.model_id`);
    const name = nameOf(values, entry);
    if (id === undefined || name === undefined) return [];
    const earlier = seen.get(name);
    if (earlier === undefined) {
      seen.set(name, entry);
      return [];
    }
    const what = `has the same name as ${earlier}, "${name}"`;
    return [problemOf(id, entry, what, "Give one of them an alias of its own.")];
  });
}

/** A model of this name could never be asked for. */
function reservedName(values: Values, entries: readonly string[]): readonly Problem[] {
  return entries.flatMap((entry) => {
    const alias = values.get(`${entry}.alias`);
    if (alias?.value !== "default") return [];
    return [problemOf(alias, alias.path, "`default` means the default model", "Give it another alias.")];
  });
}

/** Names stand in logs, metrics and terminals, on lines of their own. */
function unprintableName(values: Values, entries: readonly string[]): readonly Problem[] {
  return entries.flatMap((entry) => {
    const alias = values.get(`${entry}.alias`);
    if (typeof alias?.value !== "string" || !/\p{Cc}/u.test(alias.value)) return [];
    const what = `${JSON.stringify(alias.value)} has control characters`;
    return [problemOf(alias, alias.path, what, "Give the model an alias without them.")];
  });
}

function defaultModel(values: Values, entries: readonly string[]): readonly Problem[] {
  const given = values.get("default_model_id");
  if (typeof given?.value !== "string") return [];
  const names = entries.flatMap((entry) => nameOf(values, entry) ?? []);
  const ids = entries.map((entry) => values.get(`${entry}.model_id`)?.value);
  if (names.length === 0 || [...names, ...ids].includes(given.value)) return [];
  return [
    problemOf(given, given.path, `no model is called "${given.value}"`, `Use one of: ${names.join(", ")}.`),
  ];
}

/** The model that ranks search results; resolve.ts has added the entry of the one that needs none. */
function searchModel(values: Values, entries: readonly string[]): readonly Problem[] {
  const given = values.get("runtime.search_embedding_model");
  const names = entries.flatMap((entry) => nameOf(values, entry) ?? []);
  if (typeof given?.value !== "string" || names.includes(given.value)) return [];
  const fix = `Use ${[SEARCH_MODEL_NAME, ...names].join(", ")}, or add it to [[models]].`;
  return [problemOf(given, given.path, `no model is called "${given.value}"`, fix)];
}

function sameAlias(values: Values, entries: readonly string[]): readonly Problem[] {
  return entries.flatMap((entry) => {
    const given = values.get(`${entry}.adapter.lora`);
    if (!Array.isArray(given?.value)) return [];
    const aliases = (given.value as readonly LoraEntry[]).map((one) => loraParts(one).alias);
    const twice = aliases.find((alias, index) => aliases.indexOf(alias) < index);
    if (twice === undefined) return [];
    const fix = "Give every adapter an alias of its own.";
    return [problemOf(given, given.path, `two adapters have the alias "${twice}"`, fix)];
  });
}

/** Other names of models: each given once, none a model's own, each for a model that there is. */
function modelAliases(values: Values, entries: readonly string[]): readonly Problem[] {
  const given = values.get("aliases");
  if (!Array.isArray(given?.value)) return [];
  const aliases = (given.value as readonly AliasEntry[]).map(aliasParts);
  const ids = new Set(["default", ...entries.flatMap((entry) => ownNames(values, entry))]);
  const canHaveAdapters = entries.some(
    (entry) =>
      values.has(`${entry}.adapter.lora`) || values.get(`${entry}.adapter.enable_lora`)?.value === true,
  );
  return aliases.flatMap(({ name, model, adapter }, index) => {
    const say = (what: string, fix: string) => [problemOf(given, given.path, what, fix)];
    if (adapter !== undefined && !canHaveAdapters) {
      return say(
        `the alias "${name}" has an adapter, and no model has any`,
        "Set enable_lora or lora of the model.",
      );
    }
    if (/\p{Cc}/u.test(name)) return say(`${JSON.stringify(name)} has control characters`, "Remove them.");
    if (ids.has(name)) return say(`"${name}" is the name of a model`, "Give the alias another name.");
    if (aliases.findIndex((other) => other.name === name) < index) {
      return say(`two aliases have the name "${name}"`, "Keep one of them.");
    }
    if (ids.has(model) || canHaveAdapters) return [];
    return say(
      `the alias "${name}" is for "${model}", which is not served`,
      `Use one of ${[...ids].join(", ")}.`,
    );
  });
}

/** The names under which requests may ask for an entry. */
function ownNames(values: Values, entry: string): readonly string[] {
  const id = values.get(`${entry}.model_id`)?.value;
  const repo = typeof id === "string" && !isAbsolute(id) ? parseHubId(id)?.repo : undefined;
  return [nameOf(values, entry), repo].filter((name) => name !== undefined);
}

/** The name clients use for an entry. */
function nameOf(values: Values, entry: string): string | undefined {
  const alias = values.get(`${entry}.alias`)?.value; // resolve.ts has named those that had none
  return typeof alias === "string" ? alias : undefined;
}
