// The model that a request names, aliases resolved. Order: model id, adapter card, adapter alias, exact alias, longest
// pattern; then the same for what is left of the name without what clients of other servers put around it. So what answers and
// metrics show is what really answers.

import type { ModelAlias, ModelAliases } from "./model-alias.ts";
import { cardOf, DEFAULT_NAME, type ModelInfo } from "../core/model-info.ts";
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

/** Longest name that is searched for in other spellings, characters. */
const SPELLED_CHARS_MAX = 512;

/** What a name stands for, with the defaults of its alias. An empty name stands for the default model. */
export function resolvedModel(
  { models, aliases }: KnownModels,
  name: string,
  withPatterns: boolean,
): ResolvedModel {
  const served = models();
  const exact = exactModel(served, name, withPatterns ? aliases?.fitting(name) : aliases?.exact(name));
  if (exact !== undefined || name.length > SPELLED_CHARS_MAX) return exact ?? { name };
  for (const spelling of spellingsOf(name)) {
    const found = exactModel(served, spelling, aliases?.exact(spelling)) ?? spelledModel(served, spelling);
    if (found !== undefined) return found;
  }
  return { name };
}

/** The model of exactly this name, or of its alias; undefined without one. */
function exactModel(
  served: readonly ModelInfo[],
  name: string,
  alias: ModelAlias | undefined,
): ResolvedModel | undefined {
  if (isServed(served, name)) return { name };
  if (alias !== undefined) return { name: targetOf(served, alias), defaults: alias.defaults };
  return name === DEFAULT_NAME ? { name } : undefined;
}

/** The model whose name differs in upper and lower case only; undefined for none or several. */
function spelledModel(served: readonly ModelInfo[], name: string): ResolvedModel | undefined {
  const wanted = name.toLowerCase();
  const isMeant = (one: string | undefined): boolean => one?.toLowerCase() === wanted;
  const found = served.filter(({ id, root }) => isMeant(id) || isMeant(root));
  const [only] = found;
  return only !== undefined && found.length === 1 ? { name: only.id } : undefined;
}

/** The hub's host, which Ollama's clients write before names of its repositories. */
const HUB_HOST = /^(?:hf\.co|huggingface\.co)\//i;
/** The tag that Ollama's clients add to names without one. */
const LATEST = /:latest$/i;
/** The ending of a model's file. */
const FILE_ENDING = /\.gguf$/i;

/** A name without what Ollama's clients put around it. */
export function plainName(name: string): string {
  return name.replace(HUB_HOST, "").replace(LATEST, "");
}

/** Names that are left of one, the longest first: without host, tag, the ending of files, and provider (`openai/`). */
function spellingsOf(name: string): readonly string[] {
  if (name.trim() === "") return [DEFAULT_NAME];
  const plain = plainName(name.trim());
  const whole = [plain, plain.replace(FILE_ENDING, "")];
  const parts = whole.flatMap((one) => one.split("/").map((_, index, all) => all.slice(index).join("/")));
  return [...new Set([...whole, ...parts])]
    .filter((one) => one !== "")
    .toSorted((a, b) => b.length - a.length);
}

/** The name in `resolvedModel`. */
export function resolvedName(known: KnownModels, name: string, withPatterns: boolean): string {
  return resolvedModel(known, name, withPatterns).name;
}

/** Whether a model or an adapter has this name. */
export function isServed(models: readonly ModelInfo[], name: string): boolean {
  return models.some(({ id, root }) => id === name || root === name);
}

/** The model that a command about a name is about: of an alias or an adapter its base model. */
export function baseModelId(known: KnownModels, name: string): string {
  const resolved = resolvedName(known, name, false);
  return resolved === name ? name : (cardOf(known.models(), resolved)?.parent ?? resolved);
}

/** The model of an alias, or the card of its adapter; a name that is not served where that is not loaded. */
export function targetOf(models: readonly ModelInfo[], { model, adapter }: ModelAlias): string {
  if (adapter === undefined) return model;
  const base = cardOf(models, model);
  const card = models.find(({ parent, root }) => parent === base?.id && root === adapter);
  return card?.id ?? `${model}:${adapter}`;
}
