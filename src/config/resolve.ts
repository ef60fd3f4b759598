// From "what was said where" to the Settings the program runs by: layers are merged, judged, completed with defaults,
// and paths become absolute. The only entry that main.ts needs.

import { Value } from "@sinclair/typebox/value";
import { accessSync, constants } from "node:fs";
import { dirname, resolve as resolvePath } from "node:path";
import { assert } from "../core/assert.ts";
import { check, normalize } from "./check.ts";
import { findModelFile } from "./model-file.ts";
import { modelName } from "./model-name.ts";
import { editDistance, nearest } from "./nearest.ts";
import type { Origin, Problem } from "./problem.ts";
import { judgeSandboxMode } from "./sandbox-mode.ts";
import { BUILTIN_MODEL_ID, Settings } from "./settings.ts";
import {
  isTable,
  merge,
  modelEntry,
  processEnvironment,
  readEnvironment,
  readFile,
  readFlags,
  type Environment,
  type Flags,
  type RawValue,
} from "./sources.ts";
import { type Row, rowAt, ROWS } from "./table.ts";

export interface LoadOptions {
  /** The word after `svc`. A file's own `command` wins over it. Absent for `from-config`. */
  readonly command?: "serve" | "run";
  readonly configFile?: string;
  readonly flags?: Flags;
  /** The process's environment unless given. */
  readonly environment?: Environment;
  /** Where relative paths of flags and environment start; the working directory unless given. */
  readonly folder?: string;
}

export interface Loaded {
  readonly settings: Settings;
  /** Who said each value, by path; a path that is absent has its default. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** Sentences the user should read although nothing is wrong. */
  readonly notices: readonly string[];
}

/** Settings, or every reason not to start. */
export type LoadResult =
  | ({ readonly ok: true } & Loaded)
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Reads flags over environment over file over default. In the result `models` is never empty (the built-in model stands
 * in for none), each model_id is an absolute file path or BUILTIN_MODEL_ID, each alias is set, and default_model_id,
 * where given, is one of these aliases.
 */
export function loadSettings(options: LoadOptions): LoadResult {
  const environment = options.environment ?? processEnvironment();
  const folder = options.folder ?? ".";
  const fromFile = options.configFile === undefined ? [] : readFile(options.configFile, folder);
  const unread = "what" in fromFile ? [fromFile] : [];
  const written = "what" in fromFile ? [] : fromFile;
  const fromFlags = readFlags(options.flags ?? {});
  const said = judgeSandboxMode(readEnvironment(environment), [...written, ...fromFlags]);
  const values = merge([
    modelEntry(0, BUILTIN_MODEL_ID, { type: "default" }),
    implied(options.command),
    written,
    said.values,
    fromFlags,
  ]);
  const wrong = check(values);
  const sound = values.filter((value) => !wrong.some((problem) => problem.key === value.path));
  const { found, missing } = resolveFiles(sound, folder);
  const problems = [...unread, ...wrong, ...missing];
  if (problems.length > 0) return { ok: false, problems };

  const settings = complete(found);
  const notices = [...commandNotice(options, settings), ...environmentNotices(environment), ...said.notices];
  return { ok: true, settings, origins: new Map(values.map(({ path, origin }) => [path, origin])), notices };
}

function implied(command: "serve" | "run" | undefined): readonly RawValue[] {
  return command === undefined ? [] : [{ path: "command", value: command, origin: { type: "default" } }];
}

/** Makes paths absolute and looks whether what they name is there. */
function resolveFiles(
  values: readonly RawValue[],
  folder: string,
): { readonly found: readonly RawValue[]; readonly missing: readonly Problem[] } {
  const missing: Problem[] = [];
  const found = values.map((value) => {
    const row = rowAt(value.path);
    const isModel = row?.path === "models[].model_id" && value.value !== BUILTIN_MODEL_ID;
    if (typeof value.value !== "string") return value;
    const { origin } = value;
    const base = origin.type === "file" ? dirname(origin.file) : ".";
    const made = madePath(row, value.value, (path) => resolvePath(folder, base, path));
    if (made !== undefined) return { ...value, value: made };
    if (!isModel && row?.isPath !== true) return value;
    const path = resolvePath(folder, base, value.value);
    const file = isModel ? findModelFile(path) : findReadable(path);
    if (file.ok) return { ...value, value: file.file };
    missing.push({ origin, key: value.path, what: `${value.value}: ${file.what}`, fix: file.fix });
    return value;
  });
  return { found: nameModels(values, found), missing };
}

/** A value whose file or folder need not be there, with its path made absolute; undefined for other values. */
function madePath(
  row: Row | undefined,
  value: string,
  absolute: (path: string) => string,
): string | undefined {
  if (row?.isFolder === true) return absolute(value);
  const word = row?.pathAfter;
  return word !== undefined && value.startsWith(word) ? word + absolute(value.slice(word.length)) : undefined;
}

/**
 * Fixes each entry's name by what the user wrote, before a folder became the file inside it, and lets default_model_id
 * name the entry whichever way it was written.
 */
function nameModels(written: readonly RawValue[], found: readonly RawValue[]): readonly RawValue[] {
  const textAt = (path: string): string | undefined => {
    const value = written.find((candidate) => candidate.path === path)?.value;
    return typeof value === "string" ? value : undefined;
  };
  const wanted = textAt("default_model_id");
  const named = new Map(found.map((value) => [value.path, value]));
  for (const { path, origin } of written.filter((value) => /^models\[\d+\]$/.test(value.path))) {
    const id = textAt(`${path}.model_id`);
    if (id === undefined) continue;
    const alias = textAt(`${path}.alias`);
    const name = modelName({ model_id: id, ...(alias === undefined ? {} : { alias }) });
    named.set(`${path}.alias`, { path: `${path}.alias`, value: name, origin });
    const chosen = named.get("default_model_id");
    if (chosen !== undefined && wanted === id) named.set(chosen.path, { ...chosen, value: name });
  }
  return [...named.values()];
}

function findReadable(path: string): ReturnType<typeof findModelFile> {
  try {
    accessSync(path, constants.R_OK);
    return { ok: true, file: path };
  } catch {
    return { ok: false, what: "there is no such file, or it cannot be read", fix: "Check the path." };
  }
}

/** Sound values and defaults as one object. Fails only by a mistake of ours: check() has passed. */
function complete(values: readonly RawValue[]): Settings {
  const tree: unknown = Value.Default(Settings, toTree(values));
  assert(
    Value.Check(Settings, tree),
    `settings are incomplete: ${Value.Errors(Settings, tree).First()?.path}`,
  );
  const { runtime } = tree;
  return { ...tree, runtime: { ...runtime, ubatch: Math.min(runtime.ubatch, runtime.batch) } };
}

/** Nested as the schema wants it. The one list, models, is gathered as a table with numbered keys first. */
function toTree(values: readonly RawValue[]): Record<string, unknown> {
  const tree: Record<string, unknown> = {};
  for (const { path, value } of values) {
    const row = rowAt(path);
    if (row === undefined) continue;
    const steps = path.split(/[.[\]]+/);
    const parent = steps.slice(0, -1).reduce(childTable, tree);
    parent[row.key] = normalize(row, value);
  }
  return { ...tree, models: Object.values(childTable(tree, "models")) };
}

function childTable(parent: Record<string, unknown>, key: string): Record<string, unknown> {
  const present = parent[key];
  if (isTable(present)) return present;
  const fresh: Record<string, unknown> = {};
  parent[key] = fresh;
  return fresh;
}

function commandNotice(options: LoadOptions, settings: Settings): readonly string[] {
  if (options.command === undefined || options.command === settings.command) return [];
  const what = settings.command === "run" ? "the terminal chat starts" : "the server starts";
  return [`${options.configFile} says command = "${settings.command}", so ${what}.`];
}

/** The environment belongs to others too, so only a name that looks like a slip of ours is worth a word. */
function environmentNotices(environment: Environment): readonly string[] {
  const known = ROWS.flatMap((row) => row.env);
  return Object.keys(environment).flatMap((name) => {
    if (!name.startsWith("SVC_") || known.includes(name)) return [];
    const meant = nearest(name, known);
    if (meant === undefined || editDistance(name, meant) > 2) return [];
    return [`${name} is not a setting and was ignored; did you mean ${meant}?`];
  });
}
