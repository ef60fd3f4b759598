// Turns the schema of settings.ts into rows: for every leaf its path in the TOML file, its flag, its environment names,
// its type and its default. Everything that reads, checks, prints or documents settings works from these rows, and
// this file knows no setting by name.
//
// A path is written with an empty index where a list of tables is meant: `models[].device.cpu`. A value's own path
// carries the index: `models[0].device.cpu`.

import { assert } from "../core/assert.ts";
import { KindGuard, type TObject, type TSchema } from "@sinclair/typebox";
import { factsOf } from "./field.ts";
import { Settings } from "./settings.ts";

type RowType = "text" | "integer" | "number" | "boolean" | "choice" | "list";

/** A default; no list has one. */
type Scalar = string | number | boolean;

/** A leaf of the settings table. */
export interface Row {
  /** `server.port`, `models[].device.cpu`, `command`. */
  readonly path: string;
  /** Path of the enclosing section; empty at the top level. */
  readonly section: string;
  readonly key: string;
  readonly type: RowType;
  readonly schema: TSchema;
  readonly description: string;
  /** Undefined where the setting has none. */
  readonly defaultValue: Scalar | undefined;
  /** Value in the example file: the default if there is one. */
  readonly example: Scalar | readonly string[] | readonly number[] | undefined;
  /** The words of a `choice`; empty for other types. */
  readonly values: readonly string[];
  /** Those of `values` that have no behaviour in this version. */
  readonly laterValues: readonly string[];
  readonly valueAliases: Readonly<Record<string, string>>;
  /** Other spellings of the key in a TOML file. */
  readonly aliases: readonly string[];
  readonly status: "available" | "later" | "never";
  readonly isPath: boolean;
  readonly isFolder: boolean;
  /** After this word a value names a file. */
  readonly pathAfter: string | undefined;
  /** Required form of a text, in words. */
  readonly form: string | undefined;
  readonly isLive: boolean;
  readonly secretAfter: string | undefined;
  /** `--max-seqs`; absent where the setting lives in the file alone. */
  readonly flag: string | undefined;
  readonly short: string | undefined;
  /** Environment names, the first one that is set counts. */
  readonly env: readonly string[];
}

/** A table of the file; `isList` for [[models]]. */
export interface Section {
  readonly path: string;
  readonly description: string;
  readonly isList: boolean;
}

interface Table {
  readonly rows: Row[];
  readonly sections: Section[];
}

const TABLE = readTable();

/** All settings, in the order of settings.ts. */
export const ROWS: readonly Row[] = TABLE.rows;

/** All sections, in the order of settings.ts; the top level is not one. */
export const SECTIONS: readonly Section[] = TABLE.sections;

const ROW_BY_PATH = new Map(
  ROWS.flatMap((row) =>
    [row.key, ...row.aliases].map((key) => [key.includes(".") ? key : join(row.section, key), row]),
  ),
);
const SECTION_BY_PATH = new Map(SECTIONS.map((section) => [section.path, section]));

/** The row of a value's path, aliases included; indexes are ignored. */
export function rowAt(path: string): Row | undefined {
  return ROW_BY_PATH.get(withoutIndexes(path));
}

/** The section of a path; indexes are ignored. */
export function sectionAt(path: string): Section | undefined {
  return SECTION_BY_PATH.get(withoutIndexes(path));
}

/** `models[0].device` and `cpu` make `models[0].device.cpu`. */
export function join(section: string, key: string): string {
  return section === "" ? key : `${section}.${key}`;
}

/** The header a section has in a TOML file: `[server]`, `[[models]]`, `[models.device]`. */
export function header(section: Section): string {
  const path = section.path.replaceAll("[]", "");
  return section.isList ? `[[${path}]]` : `[${path}]`;
}

/** The words of a `choice` that do something in this version. */
export function usableValues(row: Row): readonly string[] {
  return row.values.filter((word) => !row.laterValues.includes(word));
}

/** `models[3].alias` → `models[].alias`. */
function withoutIndexes(path: string): string {
  return path.replaceAll(/\[\d+\]/g, "[]");
}

function readTable(): Table {
  const table: Table = { rows: [], sections: [] };
  readObject(Settings, "", table);
  return table;
}

/** Leaves before sections, as a TOML file needs them. */
function readObject(object: TObject, path: string, table: Table): void {
  const fields = Object.entries(object.properties);
  for (const [key, schema] of fields) {
    if (innerObject(schema) === undefined) table.rows.push(readRow(schema, path, key));
  }
  for (const [key, schema] of fields) {
    const inner = innerObject(schema);
    if (inner === undefined) continue;
    const isList = KindGuard.IsArray(schema);
    const innerPath = join(path, key) + (isList ? "[]" : "");
    table.sections.push({ path: innerPath, description: describe(schema), isList });
    readObject(inner, innerPath, table);
  }
}

/** The table a schema stands for, itself or as a list of tables. */
function innerObject(schema: TSchema): TObject | undefined {
  if (KindGuard.IsObject(schema)) return schema;
  if (factsOf(schema).isTables !== true || !KindGuard.IsArray(schema)) return undefined;
  return KindGuard.IsObject(schema.items) ? schema.items : undefined;
}

function readRow(schema: TSchema, section: string, key: string): Row {
  const facts = factsOf(schema);
  const flag = facts.flag === false ? undefined : (facts.flag ?? `--${key.replaceAll("_", "-")}`);
  const name = flag?.slice(2).replaceAll("-", "_").toUpperCase();
  const defaultValue = scalar(schema.default);
  return {
    path: join(section, key),
    section,
    key,
    type: typeOf(schema),
    schema,
    description: describe(schema),
    defaultValue,
    example: defaultValue ?? facts.example,
    values: wordsOf(schema),
    laterValues: facts.laterValues ?? [],
    valueAliases: facts.valueAliases ?? {},
    aliases: facts.aliases ?? [],
    status: facts.status ?? "available",
    isPath: facts.isPath ?? false,
    isFolder: facts.isFolder ?? false,
    pathAfter: facts.pathAfter,
    form: facts.form?.words,
    isLive: facts.isLive ?? false,
    secretAfter: facts.secretAfter,
    flag,
    short: facts.short,
    // Spec: the product's own prefix first, then the literal one of the interface.
    env: [
      ...(name === undefined ? [] : [`SVC_${name}`, `SERVICE_${name}`]),
      ...(facts.env === undefined ? [] : [facts.env]),
    ],
  };
}

/** The words of a `choice`; TypeBox makes a union of one word that word itself. */
function wordsOf(schema: TSchema): readonly string[] {
  if (KindGuard.IsUnion(schema)) return schema.anyOf.map((literal) => String(literal["const"]));
  return KindGuard.IsLiteral(schema) ? [String(schema.const)] : [];
}

function scalar(value: unknown): Scalar | undefined {
  const isScalar = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return isScalar ? value : undefined;
}

function typeOf(schema: TSchema): RowType {
  if (KindGuard.IsInteger(schema)) return "integer";
  if (KindGuard.IsNumber(schema)) return "number";
  if (KindGuard.IsBoolean(schema)) return "boolean";
  if (wordsOf(schema).length > 0) return "choice";
  return KindGuard.IsArray(schema) ? "list" : "text";
}

function describe(schema: TSchema): string {
  assert(schema.description !== undefined, "every setting has a description");
  return schema.description;
}
