// Resolves raw values to Settings: merges the layers, validates them, adds defaults and makes paths absolute. The only
// entry that main.ts needs.

import { Value } from "@sinclair/typebox/value";
import { accessSync, constants, existsSync } from "node:fs";
import { dirname, resolve as resolvePath } from "node:path";
import { assert } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import { parseHubId } from "../core/hub-id.ts";
import { isObject } from "../core/json.ts";
import type { McpConfig } from "../core/mcp-config.ts";
import type { Wanted } from "../core/model-files.ts";
import { fromHome } from "../core/user-home.ts";
import { check, normalize } from "./check.ts";
import { ownKeyOf } from "./foreign-names.ts";
import { findModelFile, findVoice, type ModelFile } from "./model-file.ts";
import { modelName } from "./model-name.ts";
import { withNamedAlias } from "./named-alias.ts";
import { type McpRead, readMcpFile } from "./mcp-file.ts";
import { editDistance, nearest } from "./nearest.ts";
import type { Origin, Problem } from "./problem.ts";
import { judgeSandboxMode } from "./sandbox-mode.ts";
import { BUILTIN_MODEL_ID, isImageKind } from "./model-settings.ts";
import { isVoiceName } from "../core/voice-names.ts";
import { type ModelSettings, SEARCH_MODEL_ID, SEARCH_MODEL_NAME, Settings } from "./settings.ts";
import {
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
import { rowAt, ROWS } from "./table.ts";

const MODEL_ID = "models[].model_id";
const MODEL_0 = "models[0].model_id";

/** The one path whose file is read together with the settings. */
const MCP_CONFIG = "runtime.mcp_config";

export interface LoadOptions {
  /** The word after `svc`. A file's own `command` wins over it. Absent for `from-config`. */
  readonly command?: "serve" | "run";
  readonly configFile?: string;
  /** Whether a configuration file, the environment or a flag has to name a model. Without a file the built-in toy stands in. */
  readonly requireModel?: boolean;
  readonly flags?: Flags;
  /** The process's environment unless given. */
  readonly environment?: Environment;
  /** Where relative paths of flags and environment start; the working directory unless given. */
  readonly folder?: string;
}

export interface Loaded {
  readonly settings: Settings;
  /** Content of the file that `mcp_config` names; absent if it names none. */
  readonly mcp?: McpConfig;
  /** Origin of each value, by path; absent for defaults. */
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
 * in for none), each model_id is an absolute file path, a name on the hub or BUILTIN_MODEL_ID, each alias is set, and
 * default_model_id, where given, is one of these aliases.
 */
export function loadSettings(options: LoadOptions): LoadResult {
  const environment = options.environment ?? processEnvironment();
  const folder = options.folder ?? ".";
  const fromFile = options.configFile === undefined ? [] : readFile(options.configFile, folder);
  const unread = "what" in fromFile ? [fromFile] : [];
  const written = "what" in fromFile ? [] : fromFile;
  const flags = readFlags(options.flags ?? {});
  const said = judgeSandboxMode(readEnvironment(environment), [...written, ...flags]);
  const others = [...written, ...said.values];
  const fromFlags = options.command === "run" ? withNamedAlias(flags, others, folder) : flags;
  const values = merge([
    modelEntry(0, BUILTIN_MODEL_ID, { type: "default" }),
    implied(options.command),
    written,
    said.values,
    fromFlags,
  ]);
  const named = withSearchModel(nameModels(values, folder));
  const wrong = check(named);
  const sound = named.filter((value) => !wrong.some((problem) => problem.key === value.path));
  const { found, missing } = resolveFiles(sound, folder);
  const mcp = missing.some(({ key }) => key === MCP_CONFIG) ? undefined : readMcp(found, environment);
  const problems = [
    ...unread,
    ...wrong,
    ...missing,
    ...(mcp?.ok === false ? mcp.problems : []),
    ...(unread.length > 0 ? [] : withoutModel(options, values)),
  ];
  if (problems.length > 0) return { ok: false, problems };

  const settings = complete(found);
  const notices = [...commandNotice(options, settings), ...environmentNotices(environment), ...said.notices];
  const origins = new Map(values.map(({ path, origin }) => [path, origin]));
  return { ok: true, settings, ...(mcp?.ok === true ? { mcp: mcp.config } : {}), origins, notices };
}

/** A configuration file has to name a model: without one the built-in toy would answer as if nothing were wrong. */
function withoutModel(
  { configFile: file, requireModel = false }: LoadOptions,
  values: readonly RawValue[],
): readonly Problem[] {
  if (!requireModel) return [];
  const model = values.find(({ path }) => path === MODEL_0);
  const hasFolder = values.some(({ path }) => path === "server.models_dir");
  if (file === undefined || hasFolder || model?.origin.type !== "default") return [];
  const fix = `Add [[models]] with model_id = "FILE.gguf" or "owner/name", or model_id = "${BUILTIN_MODEL_ID}" for the built-in toy.`;
  return [{ origin: { type: "file", file }, key: "models", what: "no model is named", fix }];
}

/** The servers that models may call; undefined where no file names any. */
function readMcp(found: readonly RawValue[], environment: Environment): McpRead | undefined {
  const file = found.find(({ path }) => path === MCP_CONFIG)?.value;
  return typeof file === "string" ? readMcpFile(file, environment) : undefined;
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
    if (row === undefined || typeof value.value !== "string") return value;
    const path = absolutePath(value, folder);
    if (row.isFolder) return { ...value, value: path };
    const word = row.pathAfter;
    if (word !== undefined && value.value.startsWith(word)) {
      const after = { ...value, value: value.value.slice(word.length) };
      return { ...value, value: word + absolutePath(after, folder) };
    }
    const isModel = row.path === MODEL_ID;
    if (!isModel && !row.isPath) return value;
    const file = isModel ? modelOf(value, path, values) : findReadable(path);
    if (file.ok) return { ...value, value: file.file };
    missing.push({
      origin: value.origin,
      key: value.path,
      what: `${value.value}: ${file.what}`,
      fix: file.fix,
    });
    return value;
  });
  return { found, missing };
}

/** Absolute path of a text: relative to the file that contains it, or to the working directory; `~/` is the user's folder. */
function absolutePath({ value, origin }: RawValue, folder: string): string {
  const base = origin.type === "file" ? dirname(origin.file) : ".";
  return resolvePath(folder, base, fromHome(String(value)));
}

/** The absolute path of a model here, or the name itself where the hub or this program has it. */
function findModel(id: string, path: string, { isVoice, hasLibrary, ...wanted }: WantedModel): ModelFile {
  const isChosen = wanted.file !== undefined || wanted.quant !== undefined;
  if (id === BUILTIN_MODEL_ID) {
    if (!isChosen) return { ok: true, file: id };
    return { ok: false, what: "the built-in model is one file", fix: "Leave out quant and quantized_file." };
  }
  if (isVoiceName(id)) return { ok: true, file: id };
  if (isVoice) return findVoice(path, hasLibrary);
  const hub = existsSync(path) ? undefined : parseHubId(id);
  if (hub === undefined) return findModelFile(path, wanted);
  if (isChosen && (hub.file !== undefined || hub.quant !== undefined)) {
    return {
      ok: false,
      what: "the file is chosen twice",
      fix: "Leave out quant and quantized_file, or `:…`.",
    };
  }
  return { ok: true, file: id };
}

/** Resolves a model_id by the kind of its entry. */
function modelOf(value: RawValue, path: string, values: readonly RawValue[]): ModelFile {
  const id = String(value.value);
  const kind = textBeside(value, "kind", values);
  if (kind === "upstream") return { ok: true, file: id };
  const isImage = isImageKind(kind);
  if (isImage && id === BUILTIN_MODEL_ID) {
    return { ok: false, what: "the built-in model generates no images", fix: "Name an image model's file." };
  }
  if (isImage && textBeside(value, "format.diffusion_model", values) !== undefined)
    return { ok: true, file: id };
  // An image model may be a file of several formats; what is wrong with it, its library says.
  if (isImage && existsSync(path)) return findReadable(path);
  return findModel(id, path, wantedOf(value, values));
}

/** Another value of the entry whose model_id is given. */
function textBeside({ path }: RawValue, key: string, values: readonly RawValue[]): string | undefined {
  const value = values.find((candidate) => candidate.path === path.replace("model_id", key))?.value;
  return typeof value === "string" ? value : undefined;
}

/** What an entry says about the file of its model. */
interface WantedModel extends Wanted {
  readonly isVoice: boolean;
  /** It names a library that speaks. */
  readonly hasLibrary: boolean;
}

/** Choice of the model's file in an entry. */
function wantedOf(id: RawValue, values: readonly RawValue[]): WantedModel {
  const file = textBeside(id, "format.quantized_file", values);
  const quant = textBeside(id, "quantization.quant", values);
  const isVoice = textBeside(id, "kind", values) === "speech";
  const hasLibrary = textBeside(id, "format.speech_library", values) !== undefined;
  return { isVoice, hasLibrary, ...defined({ file, quant }) };
}

/**
 * Gives each entry without an alias its name, by what the user wrote, and lets default_model_id name the entry whichever
 * way it was written.
 */
function nameModels(values: readonly RawValue[], folder: string): readonly RawValue[] {
  const named = new Map(values.map((value) => [value.path, value]));
  for (const { path, origin } of values.filter((value) => /^models\[\d+\]$/.test(value.path))) {
    const id = named.get(`${path}.model_id`);
    if (typeof id?.value !== "string" || id.value === "") continue;
    const key = `${path}.alias`;
    const local = absolutePath(id, folder);
    const model_id = existsSync(local) ? local : id.value;
    const alias = named.get(key) ?? { path: key, value: modelName({ model_id }), origin };
    named.set(key, alias);
    const chosen = named.get("default_model_id");
    if (chosen?.value === id.value) named.set(chosen.path, { ...chosen, value: alias.value });
  }
  return [...named.values()];
}

/** Adds the model that ranks search results where it is known by its name alone. */
function withSearchModel(values: readonly RawValue[]): readonly RawValue[] {
  const given = values.find(({ path }) => path === "runtime.search_embedding_model");
  const aliases = values.filter(({ path }) => path.endsWith("].alias"));
  if (given?.value !== SEARCH_MODEL_NAME || aliases.some(({ value }) => value === given.value)) return values;
  const index = values.filter(({ path }) => /^models\[\d+\]$/.test(path)).length;
  const cpu = values.find(({ path }) => path === "models[0].device.cpu"); // it is the same for all models
  return [
    ...values,
    ...modelEntry(index, SEARCH_MODEL_ID, given.origin),
    { ...given, path: `models[${index}].alias` },
    ...(cpu === undefined ? [] : [{ ...cpu, path: `models[${index}].device.cpu` }]),
  ];
}

function findReadable(path: string): ModelFile {
  try {
    accessSync(path, constants.R_OK);
    return { ok: true, file: path };
  } catch {
    // Other programs' -c is the size of the context.
    const size = /\/(\d{3,7})$/.exec(path)?.[1];
    const fix =
      size === undefined ? "Check the path." : `A context of ${size} tokens is --max-seq-len ${size}.`;
    return { ok: false, what: "there is no such file, or it cannot be read", fix };
  }
}

/** Sound values and defaults as one object. Fails only by a bug: check() has passed. */
function complete(values: readonly RawValue[]): Settings {
  const tree: unknown = Value.Default(Settings, toTree(values));
  assert(
    Value.Check(Settings, tree),
    `settings are incomplete: ${Value.Errors(Settings, tree).First()?.path}`,
  );
  return tree;
}

/** The entry of a model that no one has configured. */
export function defaultModel(id: string): ModelSettings {
  const [model] = complete([{ path: MODEL_0, value: id, origin: { type: "default" } }]).models;
  assert(model !== undefined, "an entry was made");
  return model;
}

/** Nested as the schema wants it. Lists of tables are gathered as tables with numbered keys first. */
function toTree(values: readonly RawValue[]): Record<string, unknown> {
  const tree: Record<string, unknown> = {};
  for (const { path, value } of values) {
    const row = rowAt(path);
    if (row === undefined) continue;
    const steps = path.split(/[.[\]]+/);
    const parent = steps.slice(0, -1).reduce(childTable, tree);
    parent[row.key] = normalize(row, value);
  }
  const models = Object.values(childTable(tree, "models")).map((model) =>
    isObject(model) && isObject(model["upstreams"])
      ? { ...model, upstreams: Object.values(model["upstreams"]) }
      : model,
  );
  return { ...tree, models };
}

function childTable(parent: Record<string, unknown>, key: string): Record<string, unknown> {
  const present = parent[key];
  if (isObject(present)) return present;
  const fresh: Record<string, unknown> = {};
  parent[key] = fresh;
  return fresh;
}

function commandNotice(options: LoadOptions, settings: Settings): readonly string[] {
  if (options.command === undefined || options.command === settings.command) return [];
  const what = settings.command === "run" ? "the terminal chat starts" : "the server starts";
  return [`${options.configFile} says command = "${settings.command}", so ${what}.`];
}

/** Other programs use the environment too, so only names close to a setting are reported. */
function environmentNotices(environment: Environment): readonly string[] {
  const known = ROWS.flatMap((row) => row.env);
  return Object.keys(environment).flatMap((name) => {
    if (!name.startsWith("SVC_") || known.includes(name)) return [];
    const own = ownKeyOf(name.slice("SVC_".length));
    const ownRow = own === undefined ? undefined : ROWS.find((row) => row.key === own && row.env.length > 0);
    const meant = ownRow?.env[0] ?? nearest(name, known);
    if (meant === undefined || (ownRow === undefined && editDistance(name, meant) > 2)) return [];
    return [`${name} is not a setting and was ignored; did you mean ${meant}?`];
  });
}
