// Reduces a tool's input schema to what the grammar compiler supports. MCP tools are in the prompt of every conversation, so
// one unsupported schema (a reference to another document, `true` as a schema) would make all requests fail. Unsupported
// parts are dropped: the model may then write invalid arguments, which the MCP server rejects.

import { isObject, type Json } from "../core/json.ts";
import { type Held, holdsSchemas, mapSchemas, schemaKeyword } from "../core/schema-keywords.ts";
import { MCP_SCHEMA_DEPTH_MAX } from "./limits.ts";

export interface Parameters {
  readonly parameters: Json;
  /** Whether nothing was dropped. */
  readonly strict: boolean;
}

const TYPES = new Set<unknown>(["string", "number", "integer", "boolean", "array", "object", "null"]);
/** The compiler reads lengths as 32-bit integers. */
const LENGTH_MAX = 2 ** 31 - 1;

/** The parameters of a function whose arguments the schema describes. */
export function parametersOf(schema: Json): Parameters {
  const walk = new Walk();
  const whole = walk.schema({ ...schema, type: "object" }, 0);
  const parameters = { ...whole, properties: whole["properties"] ?? {} };
  return { parameters: walk.resolved(parameters, parameters), strict: walk.isWhole };
}

class Walk {
  isWhole = true;

  /** The supported part of a schema; {} if there is no such part. */
  schema(node: unknown, depth: number): Json {
    if (node === true) return {};
    if (!isObject(node) || depth > MCP_SCHEMA_DEPTH_MAX) {
      this.isWhole = false;
      return {};
    }
    const kept: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(node)) {
      const part = this.keyword(key, value, depth);
      if (part !== undefined) kept[key] = part;
      else if (!isDroppedNote(key)) this.isWhole = false;
    }
    return kept;
  }

  /** Drops references that do not resolve to a schema. */
  resolved(node: Json, root: Json): Json {
    const kept: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(node)) {
      if (key === "$ref" && !isResolvable(value, root)) this.isWhole = false;
      else kept[key] = mapSchemas(key, value, (one) => (isObject(one) ? this.resolved(one, root) : one));
    }
    return kept;
  }

  /** The supported part of a keyword's value; undefined if there is no such part. */
  private keyword(key: string, value: unknown, depth: number): unknown {
    const row = schemaKeyword(key);
    if (row?.isCompiled !== true || !isFit(row.holds, value)) return undefined;
    return mapSchemas(key, value, (one) => this.schema(one, depth + 1));
  }
}

/** Whether the compiler takes a value. References are resolved later, when all definitions are known. */
function isFit(holds: Held, value: unknown): boolean {
  return (CHECKS[holds] ?? isText)(value);
}

const isAny = (): boolean => true;
const isText = (value: unknown): boolean => typeof value === "string";

/** What values must be; of other kinds, texts. A part that is no schema becomes one that says nothing. */
const CHECKS: Readonly<Partial<Record<Held, (value: unknown) => boolean>>> = {
  any: isAny,
  schema: isAny,
  "schema or list": isAny,
  "schema or flag": (value) => !Array.isArray(value),
  list: isList,
  map: isObject,
  type: isType,
  values: isList,
  names: (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
  length: (value) => isWithin(value, 0, LENGTH_MAX) && Number.isInteger(value),
  bound: (value) => isWithin(value, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  pattern: isWholePattern,
};

/** Whether a keyword constrains nothing and does not reach the compiler. */
function isDroppedNote(key: string): boolean {
  const row = schemaKeyword(key);
  return row?.isNote === true && row.isCompiled !== true;
}

/** Whether a reference within the document resolves to a schema, without a cycle. */
function isResolvable(reference: unknown, root: Json): boolean {
  let next = reference;
  for (let step = 0; step < MCP_SCHEMA_DEPTH_MAX; step++) {
    if (typeof next !== "string" || !/^#\/[^~%]+$/.test(next)) return false;
    const target = schemaAt(root, next.slice(2).split("/"));
    if (target === undefined) return false;
    if (!("$ref" in target)) return true;
    next = target["$ref"];
  }
  return false;
}

/** The schema at the end of a path that alternates between keywords and names. */
function schemaAt(root: Json, path: readonly string[]): Json | undefined {
  let here: unknown = root;
  let isMap = false; // a map of names to schemas
  for (const step of path) {
    if (!isObject(here) || !Object.hasOwn(here, step)) return undefined;
    if (!isMap && !holdsSchemas(step)) return undefined;
    here = here[step];
    isMap = !isMap && schemaKeyword(step)?.holds === "map";
  }
  return isObject(here) && !isMap ? here : undefined;
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0;
}

function isType(value: unknown): boolean {
  return isList(value) ? value.every((one) => TYPES.has(one)) : TYPES.has(value);
}

function isWithin(value: unknown, least: number, most: number): boolean {
  return typeof value === "number" && value >= least && value <= most;
}

/** The compiler supports anchored patterns only. */
function isWholePattern(value: unknown): boolean {
  if (typeof value !== "string" || !/^\^[^]*\$$/.test(value)) return false;
  try {
    return new RegExp(value, "u").source !== "";
  } catch {
    return false;
  }
}
