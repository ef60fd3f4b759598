// Reduces a tool's input schema to what the grammar compiler supports. MCP tools are in the prompt of every conversation, so
// one unsupported schema (a reference to another document, `true` as a schema) would make all requests fail. Unsupported
// parts are dropped: the model may then write invalid arguments, which the MCP server rejects.

import { compiledHolder, type Held, schemaKeyword } from "../core/schema-keywords.ts";
import { MCP_SCHEMA_DEPTH_MAX } from "./limits.ts";

type Schema = Readonly<Record<string, unknown>>;

export interface Parameters {
  readonly parameters: Schema;
  /** Whether nothing was dropped. */
  readonly strict: boolean;
}

const TYPES = new Set<unknown>(["string", "number", "integer", "boolean", "array", "object", "null"]);
/** The compiler reads lengths as 32-bit integers. */
const LENGTH_MAX = 2 ** 31 - 1;

/** The parameters of a function whose arguments the schema describes. */
export function parametersOf(schema: Schema): Parameters {
  const walk = new Walk();
  const whole = walk.schema({ ...schema, type: "object" }, 0);
  const parameters = { ...whole, properties: whole["properties"] ?? {} };
  return { parameters: walk.resolved(parameters, parameters), strict: walk.isWhole };
}

class Walk {
  isWhole = true;

  /** The supported part of a schema; {} if there is no such part. */
  schema(node: unknown, depth: number): Schema {
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
  resolved(node: Schema, root: Schema): Schema {
    const kept: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(node)) {
      if (key === "$ref" && !isResolvable(value, root)) this.isWhole = false;
      else if (compiledHolder(key) === "map" && isObject(value))
        kept[key] = mapped(value, (one) => this.resolvedPart(one, root));
      else if (compiledHolder(key) !== undefined) kept[key] = this.resolvedPart(value, root);
      else kept[key] = value;
    }
    return kept;
  }

  private resolvedPart(part: unknown, root: Schema): unknown {
    if (Array.isArray(part)) return part.map((one) => this.resolvedPart(one, root));
    return isObject(part) ? this.resolved(part, root) : part;
  }

  /** The supported part of a keyword's value; undefined if there is no such part. */
  private keyword(key: string, value: unknown, depth: number): unknown {
    const row = schemaKeyword(key);
    if (row?.isCompiled !== true) return undefined;
    const { holds } = row;
    if (holds === "map")
      return isObject(value) ? mapped(value, (one) => this.schema(one, depth + 1)) : undefined;
    if (holds === "list") return isList(value) ? this.list(value, depth) : undefined;
    if (holds === "schema or list" && Array.isArray(value)) return this.list(value, depth);
    if (holds === "schema or flag" && typeof value === "boolean") return value;
    if (compiledHolder(key) !== undefined) return this.schema(value, depth + 1);
    return isFit(holds, value) ? value : undefined;
  }

  private list(nodes: readonly unknown[], depth: number): readonly Schema[] {
    return nodes.map((node) => this.schema(node, depth + 1));
  }
}

/** Whether the compiler takes a value that is no schema. References are resolved later, when all definitions are known. */
function isFit(holds: Held, value: unknown): boolean {
  const check = CHECKS[holds];
  return check === undefined ? typeof value === "string" : check(value);
}

/** What values must be; of other kinds, texts. */
const CHECKS: Readonly<Partial<Record<Held, (value: unknown) => boolean>>> = {
  any: () => true,
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
function isResolvable(reference: unknown, root: Schema): boolean {
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
function schemaAt(root: Schema, path: readonly string[]): Schema | undefined {
  let here: unknown = root;
  let isMap = false; // a map of names to schemas
  for (const step of path) {
    if (!isObject(here) || !Object.hasOwn(here, step)) return undefined;
    if (!isMap && compiledHolder(step) === undefined) return undefined;
    here = here[step];
    isMap = !isMap && compiledHolder(step) === "map";
  }
  return isObject(here) && !isMap ? here : undefined;
}

function mapped(map: Schema, change: (value: unknown) => unknown): Schema {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value)]));
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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
