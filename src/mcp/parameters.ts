// A tool's input schema as every model can be given it. The tools of MCP servers stand in the prompt of every
// conversation, so one schema that the compiler of tool grammars refuses (a reference to another document, `true` in
// place of a schema) would refuse them all. What it does not take is left out: the model may then write more than the
// server takes, and the server says so.

import { MCP_SCHEMA_DEPTH_MAX } from "./limits.ts";

type Schema = Readonly<Record<string, unknown>>;

export interface Parameters {
  readonly parameters: Schema;
  /** Nothing was left out. */
  readonly strict: boolean;
}

/** Tell people and models something, constrain nothing. */
const TEXTS = new Set(["title", "description", "format", "$comment"]);
const VALUES = new Set(["default", "examples", "const", "deprecated"]);
/** Say nothing that a caller must heed. */
const MUTE = new Set(["$schema", "$id", "readOnly", "writeOnly", "contentMediaType", "contentEncoding"]);
/** Hold schemas under names, and hold a schema or several. */
const MAPS = new Set(["properties", "$defs", "definitions"]);
const SCHEMAS = new Set(["items", "additionalProperties", "anyOf", "oneOf", "allOf", "prefixItems"]);
const TYPES = new Set<unknown>(["string", "number", "integer", "boolean", "array", "object", "null"]);
/** Lengths that the compiler reads as 32-bit numbers. */
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

  /** The part of a schema that is understood; {} where that is nothing. */
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
      else if (!MUTE.has(key)) this.isWhole = false;
    }
    return kept;
  }

  /** The same with only those references that lead to a schema. */
  resolved(node: Schema, root: Schema): Schema {
    const kept: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(node)) {
      if (key === "$ref" && !leadsSomewhere(value, root)) this.isWhole = false;
      else if (MAPS.has(key) && isObject(value))
        kept[key] = mapped(value, (one) => this.resolvedPart(one, root));
      else if (SCHEMAS.has(key)) kept[key] = this.resolvedPart(value, root);
      else kept[key] = value;
    }
    return kept;
  }

  private resolvedPart(part: unknown, root: Schema): unknown {
    if (Array.isArray(part)) return part.map((one) => this.resolvedPart(one, root));
    return isObject(part) ? this.resolved(part, root) : part;
  }

  /** What is understood of a keyword's value; undefined where that is nothing. */
  private keyword(key: string, value: unknown, depth: number): unknown {
    if (VALUES.has(key)) return value;
    if (TEXTS.has(key)) return typeof value === "string" ? value : undefined;
    switch (key) {
      case "type":
        return isType(value) ? value : undefined;
      case "enum":
        return isList(value) ? value : undefined;
      case "required":
        return Array.isArray(value) && value.every((name) => typeof name === "string") ? value : undefined;
      case "properties":
      case "$defs":
      case "definitions":
        return isObject(value) ? mapped(value, (one) => this.schema(one, depth + 1)) : undefined;
      case "items":
        return Array.isArray(value) ? this.list(value, depth) : this.schema(value, depth + 1);
      case "additionalProperties":
        return typeof value === "boolean" ? value : this.schema(value, depth + 1);
      case "anyOf":
      case "oneOf":
      case "allOf":
      case "prefixItems":
        return isList(value) ? this.list(value, depth) : undefined;
      case "minLength":
      case "maxLength":
      case "minItems":
      case "maxItems":
        return isWithin(value, 0, LENGTH_MAX) && Number.isInteger(value) ? value : undefined;
      case "minimum":
      case "maximum":
      case "exclusiveMinimum":
      case "exclusiveMaximum":
        return isWithin(value, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER) ? value : undefined;
      case "pattern":
        return isWholePattern(value) ? value : undefined;
      case "$ref":
        return typeof value === "string" ? value : undefined; // where it leads is judged when all is there
      default:
        return undefined;
    }
  }

  private list(nodes: readonly unknown[], depth: number): readonly Schema[] {
    return nodes.map((node) => this.schema(node, depth + 1));
  }
}

/** Follows a reference within the document as far as it goes on; false for one that ends nowhere or in a circle. */
function leadsSomewhere(reference: unknown, root: Schema): boolean {
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
  let isMap = false; // of names to schemas, in which every name is one
  for (const step of path) {
    if (!isObject(here) || !Object.hasOwn(here, step)) return undefined;
    if (!isMap && !MAPS.has(step) && !SCHEMAS.has(step)) return undefined;
    here = here[step];
    isMap = !isMap && MAPS.has(step);
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

/** The compiler reads patterns of the whole text only. */
function isWholePattern(value: unknown): boolean {
  if (typeof value !== "string" || !/^\^[^]*\$$/.test(value)) return false;
  try {
    return new RegExp(value, "u").source !== "";
  } catch {
    return false;
  }
}
