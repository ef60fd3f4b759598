// Which files of a folder or of a hub repository make up the model that is meant. Works on names alone and touches
// neither disk nor network.

import { itemAt } from "./assert.ts";

/** Configured choice of the file. At most one of the two. */
export interface Wanted {
  /** Path within the folder, or its last part. */
  readonly file?: string;
  /** `4`, `5`, `6`, `8` (bits), or the name of a type: `Q4_K_M`. */
  readonly quant?: string;
}

/** The parts in order (one, unless the file is split), or what is wrong (a problem's `what`) and its fix. */
export type ModelFiles =
  | { readonly ok: true; readonly parts: readonly string[] }
  | { readonly ok: false; readonly what: string; readonly fix: string };

/** A file, or all parts of a split one. */
export interface ModelGroup {
  /** The file, or the first part that is there. */
  readonly name: string;
  readonly parts: readonly string[];
  /** Parts that the names speak of; 1 where the file is not split. */
  readonly total: number;
  readonly quant: string | undefined;
}

/** What a file of a repository is for, by its name. */
export type FileRole = "model" | "projector" | "draft" | "adapter" | "importance" | "other";

const SPLIT = /-(\d{5})-of-(\d{5})(?=\.gguf$)/i;
const QUANT =
  /(?<=^|[-._])(?:I?Q[1-8](?:_[A-Z0-9]+)*|TQ[12]_0|MXFP4(?:_MOE)?|NVFP4|BF16|F16|F32)(?=[-.]|$)/gi;
/** The types of a number of bits, the best compromise first. */
const OF_BITS = ["K_M", "K", "K_S", "K_L", "0", "1"];

/**
 * Chooses among paths (other files may be among them). Where nothing was said there must be exactly one model, or one of
 * the quantization `usual`.
 */
export function chooseModelFiles(paths: readonly string[], wanted: Wanted, usual?: string): ModelFiles {
  const groups = groupParts(paths);
  // A file that is named may be any; among the others a draft model or an adapter is never meant.
  const models = wanted.file === undefined ? groups.filter(({ role }) => role === "model") : groups;
  if (models.length === 0) return noModel(paths);
  const found = select(models, wanted, usual);
  const [model, ...others] = found;
  if (model === undefined) return no(missing(wanted), `There are: ${describe(models)}.`);
  if (others.length > 0) {
    return no(
      `it holds ${found.length} models that fit`,
      `Name one with --quantized-file: ${namesOf(found)}.`,
    );
  }
  const { parts, total } = model;
  if (parts.length === total) return { ok: true, parts };
  return no(
    `${parts.length} of the ${total} parts of ${model.name} are there`,
    "Put all parts into one folder.",
  );
}

/** The quantization that a file's name tells, in capitals. */
export function quantOf(path: string): string | undefined {
  const name = baseName(path)
    .replace(SPLIT, "")
    .replace(/\.gguf$/i, "");
  return name.match(QUANT)?.at(-1)?.toUpperCase();
}

/** Path of part `number` (from 1) of a split file, given any of its parts; the path itself where it is not split. */
export function partPath(path: string, number: number): string {
  return path.replace(SPLIT, (_, _part, total: string) => `-${String(number).padStart(5, "0")}-of-${total}`);
}

/** Parts of the split file that this one belongs to; 1 where it is not split. */
export function partCount(path: string): number {
  return Number(SPLIT.exec(path)?.[2] ?? 1);
}

/** All parts of a split file, given any of them; the path itself where it is not split. */
export function partPaths(path: string): readonly string[] {
  return Array.from({ length: Math.max(1, partCount(path)) }, (_, index) => partPath(path, index + 1));
}

/** The models of a folder or repository, each with all its parts. */
export function modelGroups(paths: readonly string[]): readonly ModelGroup[] {
  return groupParts(paths).filter(({ role }) => role === "model");
}

/**
 * What each file is for. Names identify draft models and adapters only where another model is beside them: a
 * repository whose models are all called `…-MTP-…` holds models.
 */
export function fileRoles(paths: readonly string[]): ReadonlyMap<string, FileRole> {
  const parts = groupParts(paths).flatMap((group) => group.parts.map((path) => [path, group.role] as const));
  const roles = new Map<string, FileRole>(parts);
  return new Map(paths.map((path) => [path, roles.get(path) ?? roleByName(path)]));
}

/** The projector for a model: the nearest folder, then F16, which every back end computes; undefined without one. */
export function projectorFor(model: string, paths: readonly string[]): string | undefined {
  const found = paths.filter((path) => isGguf(path) && roleByName(path) === "projector");
  return best(found, (path) => [distance(path, model), rank(PROJECTOR_TYPES, quantOf(path))]);
}

/** The draft model for a model: the nearest folder, then the model's own type, then Q8_0; undefined without one. */
export function draftFor(model: string, paths: readonly string[]): string | undefined {
  const found = groupParts(paths).filter(({ role, total }) => role === "draft" && total === 1);
  const types = [quantOf(model), "Q8_0"];
  return best(
    found.map(({ name }) => name),
    (path) => [distance(path, model), rank(types, quantOf(path))],
  );
}

const PROJECTOR_TYPES = ["F16", "BF16", "Q8_0", "F32"];

/** The first of those with the smallest scores, compared one after the other. */
function best(
  paths: readonly string[],
  scores: (path: string) => readonly [number, number],
): string | undefined {
  const scored = [...paths].sort().map((path) => ({ path, scores: scores(path) }));
  return scored.toSorted((a, b) => a.scores[0] - b.scores[0] || a.scores[1] - b.scores[1])[0]?.path;
}

function rank(types: readonly (string | undefined)[], type: string | undefined): number {
  const index = types.indexOf(type);
  return index < 0 ? types.length : index;
}

/** Folders between two files. */
function distance(one: string, other: string): number {
  const [a, b] = [one.split("/").slice(0, -1), other.split("/").slice(0, -1)];
  const differs = a.findIndex((folder, index) => folder !== b[index]);
  const common = differs < 0 ? Math.min(a.length, b.length) : differs;
  return a.length + b.length - 2 * common;
}

const isGguf = (path: string): boolean => /\.gguf$/i.test(path);

/** The role that a name alone suggests. Words are parted by `-`, `.` and `_`. */
function roleByName(path: string): FileRole {
  const words = baseName(path).toLowerCase().split(/[-._]/);
  const has = (...names: readonly string[]): boolean => names.some((name) => words.includes(name));
  if (has("imatrix")) return "importance";
  if (/^adapter_(?:config\.json|model\.safetensors)$/.test(baseName(path))) return "adapter";
  if (!isGguf(path)) return "other";
  if (has("mmproj")) return "projector";
  if (has("lora")) return "adapter";
  return has("draft", "mtp", "nextn", "eagle", "eagle3") ? "draft" : "model";
}

/** GGUF files by what belongs together as one, projectors and importance matrices left out. */
function groupParts(paths: readonly string[]): readonly (ModelGroup & { readonly role: FileRole })[] {
  const groups = new Map<string, string[]>();
  for (const path of [...paths].sort()) {
    if (!isGguf(path) || ["projector", "importance"].includes(roleByName(path))) continue;
    const whole = partPath(path, 0);
    groups.set(whole, [...(groups.get(whole) ?? []), path]);
  }
  const named = [...groups.values()].map((parts) => {
    const name = itemAt(parts, 0);
    return { name, parts, total: partCount(name), quant: quantOf(name), role: roleByName(name) };
  });
  const hasModel = named.some(({ role }) => role === "model");
  return hasModel ? named : named.map((group) => ({ ...group, role: "model" }));
}

function noModel(paths: readonly string[]): ModelFiles {
  if ([...fileRoles(paths).values()].includes("adapter"))
    return no(
      "it holds a LoRA adapter and no model",
      "Serve its base model, and name this one with --lora ALIAS=SOURCE.",
    );
  return no(
    "there is no GGUF file in it",
    hasSafetensors(paths)
      ? "`svc convert` makes a GGUF file of its safetensors."
      : "Only GGUF models can be served.",
  );
}

/** Whether a folder or repository holds a model that svc convert takes, and no adapter. */
export function hasSafetensors(paths: readonly string[]): boolean {
  return (
    paths.includes("config.json") &&
    !paths.includes("adapter_config.json") &&
    paths.some((path) => path.endsWith(".safetensors") && !path.includes("/"))
  );
}

function select(
  models: readonly ModelGroup[],
  wanted: Wanted,
  usual: string | undefined,
): readonly ModelGroup[] {
  const { file, quant } = wanted;
  if (file !== undefined) {
    const exact = models.filter(({ parts }) => parts.includes(file));
    return exact.length > 0
      ? exact
      : models.filter(({ parts }) => parts.some((path) => baseName(path) === file));
  }
  if (quant !== undefined) return ofQuant(models, quant);
  if (models.length === 1 || usual === undefined) return models;
  const common = models.filter((model) => model.quant === usual);
  return common.length > 0 ? common : models;
}

function ofQuant(models: readonly ModelGroup[], quant: string): readonly ModelGroup[] {
  const names = /^\d$/.test(quant) ? OF_BITS.map((ending) => `Q${quant}_${ending}`) : [quant.toUpperCase()];
  const name = names.find((candidate) => models.some((model) => model.quant === candidate));
  return models.filter((model) => name !== undefined && model.quant === name);
}

function missing({ file, quant }: Wanted): string {
  if (file !== undefined) return `there is no file ${file} in it`;
  return `no file in it has the quantization ${quant}`;
}

function describe(models: readonly ModelGroup[]): string {
  const quants = models.flatMap(({ quant }) => quant ?? []);
  return quants.length === models.length ? [...new Set(quants)].join(", ") : namesOf(models);
}

function namesOf(models: readonly ModelGroup[]): string {
  return models.map(({ name }) => name).join(", ");
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function no(what: string, fix: string): ModelFiles {
  return { ok: false, what, fix };
}
