// Keywords of JSON Schema, one row each: what a value holds and who heeds it; and the walk over the schemas that they hold. A new keyword
// is a row here. What the grammar compiler enforces of a schema is ffi/constraint's own.

import { isObject, type Json } from "./json.ts";

/** What the value of a keyword is. The first five hold schemas. */
export type Held =
  | "schema"
  | "schema or list"
  | "schema or flag"
  | "list"
  | "map"
  | "any"
  | "bound"
  | "length"
  | "names"
  | "pattern"
  | "reference"
  | "text"
  | "type"
  | "values";

export interface SchemaKeyword {
  readonly holds: Held;
  /** The grammar compiler reads it: schemas of MCP servers keep it. */
  readonly isCompiled?: true;
  /** It constrains nothing. */
  readonly isNote?: true;
  /** llama.cpp resolves references in it: always, or in place of all other parts. */
  readonly resolved?: "part" | "alternative";
  /** Its schemas apply to the same value as the schema that it stands in. */
  readonly combines?: true;
  /** It judges objects as a whole, which no list of members expresses. */
  readonly judgesObjects?: true;
  /** It says more of an array than one schema of its items does. */
  readonly judgesArrays?: true;
  /** It constrains strings, directly or through another schema. */
  readonly constrainsText?: true;
}

const COMPILED = { isCompiled: true } as const;
const NOTE = { isNote: true } as const;
const WHOLE = { holds: "schema", judgesObjects: true } as const;
const WHOLE_MAP = { holds: "map", judgesObjects: true } as const;

const ROWS: Readonly<Record<string, SchemaKeyword>> = {
  // Schemas below
  properties: { holds: "map", ...COMPILED, resolved: "part" },
  items: { holds: "schema or list", ...COMPILED, resolved: "part" },
  uniqueItems: { holds: "any", judgesArrays: true },
  contains: { holds: "schema", judgesArrays: true },
  prefixItems: { holds: "list", ...COMPILED, resolved: "part", judgesArrays: true },
  unevaluatedItems: { holds: "schema or flag", judgesArrays: true },
  additionalProperties: { holds: "schema or flag", ...COMPILED, resolved: "part" },
  allOf: { holds: "list", ...COMPILED, resolved: "part", combines: true },
  oneOf: { holds: "list", ...COMPILED, resolved: "alternative", combines: true },
  anyOf: { holds: "list", ...COMPILED, resolved: "alternative", combines: true },
  $defs: { holds: "map", ...COMPILED },
  definitions: { holds: "map", ...COMPILED },
  not: { ...WHOLE, constrainsText: true },
  if: { ...WHOLE, constrainsText: true },
  dependentSchemas: WHOLE_MAP,
  dependencies: WHOLE_MAP,
  propertyNames: WHOLE,
  patternProperties: WHOLE_MAP,
  // References
  $ref: { holds: "reference", ...COMPILED },
  $dynamicRef: { holds: "reference", constrainsText: true },
  // Values
  type: { holds: "type", ...COMPILED },
  enum: { holds: "values", ...COMPILED, constrainsText: true },
  const: { holds: "any", ...COMPILED, constrainsText: true },
  required: { holds: "names", ...COMPILED },
  pattern: { holds: "pattern", ...COMPILED, constrainsText: true },
  format: { holds: "text", ...COMPILED, constrainsText: true },
  minLength: { holds: "length", ...COMPILED, constrainsText: true },
  maxLength: { holds: "length", ...COMPILED, constrainsText: true },
  minItems: { holds: "length", ...COMPILED },
  maxItems: { holds: "length", ...COMPILED },
  minimum: { holds: "bound", ...COMPILED },
  maximum: { holds: "bound", ...COMPILED },
  exclusiveMinimum: { holds: "bound", ...COMPILED },
  exclusiveMaximum: { holds: "bound", ...COMPILED },
  // Notes, of which the first reach the compiler
  title: { holds: "text", ...COMPILED, ...NOTE },
  description: { holds: "text", ...COMPILED, ...NOTE },
  $comment: { holds: "text", ...COMPILED, ...NOTE },
  default: { holds: "any", ...COMPILED, ...NOTE },
  examples: { holds: "any", ...COMPILED, ...NOTE },
  deprecated: { holds: "any", ...COMPILED, ...NOTE },
  $schema: { holds: "text", ...NOTE },
  $id: { holds: "text", ...NOTE },
  readOnly: { holds: "any", ...NOTE },
  writeOnly: { holds: "any", ...NOTE },
  contentMediaType: { holds: "text", ...NOTE },
  contentEncoding: { holds: "text", ...NOTE },
};

const BY_NAME: ReadonlyMap<string, SchemaKeyword> = new Map(Object.entries(ROWS));

const HOLDERS: ReadonlySet<Held> = new Set(["schema", "schema or list", "schema or flag", "list", "map"]);

/** The row of a keyword. */
export function schemaKeyword(name: string): SchemaKeyword | undefined {
  return BY_NAME.get(name);
}

/** Names of the keywords whose rows satisfy a condition, in the order of the table. */
export function keywordsWhere(holds: (row: SchemaKeyword) => boolean): readonly string[] {
  return [...BY_NAME].filter(([, row]) => holds(row)).map(([name]) => name);
}

/** Whether values of a keyword hold schemas. */
export function holdsSchemas(name: string): boolean {
  const row = BY_NAME.get(name);
  return row !== undefined && HOLDERS.has(row.holds);
}

/**
 * The value of a keyword with each schema in it changed; `words` lead from the value to the schema: the name of a member, or an index.
 * Values of a wrong kind, and those that hold no schemas, stay as they are.
 */
export function mapSchemas(
  name: string,
  value: unknown,
  change: (schema: unknown, ...words: readonly string[]) => unknown,
): unknown {
  const holds = BY_NAME.get(name)?.holds;
  const isFlag = holds === "schema or flag" && typeof value === "boolean";
  if (holds === undefined || !HOLDERS.has(holds) || isFlag || value === undefined) return value;
  if (holds === "map") return isObject(value) ? mapped(value, change) : value;
  if (Array.isArray(value))
    return holds === "list" || holds === "schema or list"
      ? value.map((one, index) => change(one, String(index)))
      : value;
  return holds === "list" ? value : change(value);
}

/** The members of an object, changed. */
function mapped(object: Json, change: (value: unknown, name: string) => unknown): Json {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value, name)]));
}

/** The schemas that the value of a keyword holds. */
export function schemasIn(name: string, value: unknown): readonly unknown[] {
  const found: unknown[] = [];
  mapSchemas(name, value, (schema) => found.push(schema));
  return found;
}
