// Reads the places settings come from (defaults aside): a TOML file, the environment, command-line flags. Yields raw
// values with their origin and judges none of them; check.ts does. The only file besides main.ts that may read the
// process's environment.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { KindGuard } from "@sinclair/typebox";
import { parse, TomlError } from "smol-toml";
import { isObject } from "../core/json.ts";
import { codeOf } from "../core/reason.ts";
import { foreignFile } from "./foreign-names.ts";
import type { Origin, Problem } from "./problem.ts";
import { join, rowAt, ROWS, sectionAt, type Row } from "./table.ts";

/**
 * A value as it was written. The path is in canonical spelling: `server.port`, `models[0].device.cpu`, `models[0]` for
 * an entry itself, and `models[].device.cpu` for something said of every entry.
 */
export interface RawValue {
  readonly path: string;
  readonly value: unknown;
  readonly origin: Origin;
}

/** Values of the command line: row path → text, switch, or the texts of a flag that may be repeated. */
export type Flags = Readonly<Record<string, string | boolean | readonly string[]>>;

export type Environment = Readonly<Record<string, string | undefined>>;

/** The process's environment. */
export function processEnvironment(): Environment {
  return process.env;
}

/** The Python package index that pip is configured to use; undefined without one. */
export function pipIndex(environment: Environment): string | undefined {
  const { PIP_INDEX_URL: url = "" } = environment;
  return url === "" ? undefined : url;
}

/** Values of a TOML file, named relative to `folder`, or the one problem that keeps it from being read. */
export function readFile(file: string, folder: string): readonly RawValue[] | Problem {
  const origin: Origin = { type: "file", file };
  if (/\.gguf$/i.test(file)) {
    const what = "this is a model, not a configuration";
    return { origin, key: "", what, fix: `Name models with -m: svc serve -m ${file}` };
  }
  let text = "";
  try {
    text = readFileSync(resolve(folder, file), "utf8");
    const values: RawValue[] = [];
    flatten(withoutDates(parse(text)), "", origin, values);
    return values;
  } catch (error) {
    return { origin, key: "", ...(foreignFile(text) ?? explain(error)) };
  }
}

/** Values of the environment. A name that is set to nothing counts as not set. */
export function readEnvironment(environment: Environment): readonly RawValue[] {
  return ROWS.flatMap((row) => {
    const name = row.env.find((candidate) => (environment[candidate] ?? "") !== "");
    const text = name === undefined ? undefined : environment[name];
    if (name === undefined || text === undefined) return [];
    return said(row, [text], { type: "env", name });
  });
}

/** Values of the command line. */
export function readFlags(flags: Flags): readonly RawValue[] {
  return Object.entries(flags).flatMap(([path, given]) => {
    const row = rowAt(path);
    if (row === undefined) return [];
    const origin: Origin = { type: "flag", flag: row.flag ?? path };
    if (typeof given === "boolean") return [{ path: row.path, value: given, origin }];
    return said(row, typeof given === "string" ? [given] : given, origin);
  });
}

/** An entry of `[[models]]` and its model_id, as a flag, an environment name or a default makes it. */
export function modelEntry(index: number, modelId: string, origin: Origin): readonly RawValue[] {
  const entry = `models[${index}]`;
  return [
    { path: entry, value: {}, origin },
    { path: `${entry}.model_id`, value: modelId, origin },
  ];
}

/**
 * One value for each path; `layers` run from weakest to strongest. A layer that names models replaces the list of the
 * layers below it; what is said of every entry (`--cpu`) then goes to each entry of the list that is left.
 */
export function merge(layers: readonly (readonly RawValue[])[]): readonly RawValue[] {
  const merged = new Map<string, RawValue>();
  for (const layer of layers) {
    const own = layer.filter((value) => !isOfEveryEntry(value));
    if (own.some((value) => isOfModels(value.path))) {
      for (const path of merged.keys()) if (isOfModels(path)) merged.delete(path);
    }
    for (const value of own) merged.set(value.path, value);
  }
  const entries = [...merged.keys()].filter((path) => /^models\[\d+\]$/.test(path));
  for (const value of layers.flat().filter(isOfEveryEntry)) {
    for (const entry of entries) {
      const path = value.path.replace("models[]", entry);
      merged.set(path, { ...value, path });
    }
  }
  return [...merged.values()];
}

function isOfEveryEntry(value: RawValue): boolean {
  return value.path.startsWith("models[].");
}

function isOfModels(path: string): boolean {
  return /^models(\[|$)/.test(path);
}

function said(row: Row, texts: readonly string[], origin: Origin): readonly RawValue[] {
  if (row.path === "models[].model_id")
    return texts.flatMap((text, index) => modelEntry(index, text, origin));
  return texts.map((text) => ({ path: row.path, value: fromText(row, text), origin }));
}

/** Walks as far as the table has sections; whatever lies at the end is a value, known or not. */
function flatten(node: unknown, path: string, origin: Origin, values: RawValue[]): void {
  const isEntry = path.endsWith("]");
  if (isEntry) values.push({ path, value: node, origin });
  if (isObject(node) && (path === "" || sectionAt(path) !== undefined)) {
    for (const [key, inner] of Object.entries(node))
      flatten(inner, canonical(join(path, key)), origin, values);
  } else if (Array.isArray(node) && node.length > 0 && sectionAt(`${path}[]`) !== undefined) {
    node.forEach((inner, index) => flatten(inner, `${path}[${index}]`, origin, values));
  } else if (!isEntry) {
    values.push({ path, value: node, origin });
  }
}

/** Dates as texts, in the form that was written: no setting is one. */
function withoutDates(node: unknown): unknown {
  if (node instanceof Date) return node.toISOString();
  if (Array.isArray(node)) return node.map(withoutDates);
  if (!isObject(node)) return node;
  const copy = Object.entries(node).map(([key, inner]) => [key, withoutDates(inner)] as const);
  return Object.fromEntries(copy);
}

/** Replaces another spelling of a key by the one in the table. */
function canonical(path: string): string {
  const row = rowAt(path);
  if (row?.aliases.includes(path) === true) return row.path; // in another section
  return row === undefined ? path : path.slice(0, path.lastIndexOf(".") + 1) + row.key;
}

/** Text to the row's type where it has that form; otherwise the text itself, which check.ts then refuses. */
function fromText(row: Row, text: string): unknown {
  const word = text.trim().toLowerCase();
  if (row.type === "integer" && /^-?\d+$/.test(word)) return Number(word);
  if (row.type === "number" && /^-?(\d+\.?\d*|\.\d+)$/.test(word)) return Number(word);
  if (row.type === "list") return text.split(",").map((item) => listItem(row, item.trim()));
  if (row.type !== "boolean") return text;
  if (["true", "1", "yes", "on"].includes(word)) return true;
  return ["false", "0", "no", "off"].includes(word) ? false : text;
}

/** An item of a list of numbers is one; what is none stays a text, which the check refuses. */
function listItem({ schema }: Row, text: string): string | number {
  const isNumber = KindGuard.IsArray(schema) && KindGuard.IsNumber(schema.items);
  return isNumber && text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

function explain(error: unknown): Pick<Problem, "what" | "fix"> {
  if (error instanceof TomlError) {
    const reason = error.message.split("\n", 1)[0] ?? "";
    return { what: `line ${error.line}, column ${error.column} is not valid TOML`, fix: `${reason}.` };
  }
  const what = codeOf(error) === "ENOENT" ? "there is no such file" : "the file cannot be read";
  return { what, fix: "Check the path; svc.toml.example shows every setting." };
}
