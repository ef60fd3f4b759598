// Bounds the size of tool schemas and validates their references. Templates and call grammars are built from them in native code that
// cannot be interrupted: cubic in the properties of an object, recursive along references, multiplicative over combined alternatives.
// llama.cpp resolves only references of the form `#/path`, without unescaping; any other would fail while the prompt is rendered, with an
// error that names no tool.

import { ServiceError } from "../../core/error.ts";
import { isObject, type Json } from "../../core/json.ts";
import { keywordsWhere, schemasIn } from "../../core/schema-keywords.ts";
import { describeValue } from "./check.ts";
import {
  TOOL_ALTERNATIVES_MAX,
  TOOL_PROPERTIES_MAX,
  TOOL_SCHEMA_DEPTH_MAX,
  TOOL_SCHEMA_PARTS_MAX,
} from "./limits.ts";

const PARTS = keywordsWhere(({ resolved }) => resolved === "part");
const ALTERNATIVES = keywordsWhere(({ resolved }) => resolved === "alternative");
const COMBINING = keywordsWhere(({ combines }) => combines === true);

const COMBINATORIAL = `combines more than ${TOOL_ALTERNATIVES_MAX} schemas in one, references included`;
const SIMPLIFY = "simplify the arguments of the tool";
const COPY = 'copy the schema into $defs and refer to it as "#/$defs/NAME"';

/**
 * Throws `invalid_request` for a schema that is too large, deep, wide or combinatorial, or has a reference that cannot be resolved; `path`
 * is its path in the body.
 */
export function checkToolSchema(schema: object, path: string): void {
  const size = shapeProblem(schema) ?? (isCombinatorial(schema) ? COMBINATORIAL : undefined);
  const fix = size === undefined ? COPY : SIMPLIFY;
  const problem = size ?? referenceProblem(schema);
  if (problem === undefined) return;
  throw new ServiceError("invalid_request", `${path} ${problem}; ${fix}`, { param: path });
}

function shapeProblem(schema: object): string | undefined {
  const open: { readonly value: object; readonly depth: number }[] = [{ value: schema, depth: 1 }];
  let parts = 1;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    if (depth > TOOL_SCHEMA_DEPTH_MAX) return `is nested more than ${TOOL_SCHEMA_DEPTH_MAX} levels deep`;
    const children: readonly unknown[] = Object.values(value);
    parts += children.length;
    if (parts > TOOL_SCHEMA_PARTS_MAX) return `has more than ${TOOL_SCHEMA_PARTS_MAX} parts`;
    if (!Array.isArray(value) && children.length > TOOL_PROPERTIES_MAX) {
      return `has an object with more than ${TOOL_PROPERTIES_MAX} members`;
    }
    for (const child of children) {
      if (typeof child === "object" && child !== null) open.push({ value: child, depth: depth + 1 });
    }
  }
  return undefined;
}

/** Whether any subschema expands to too many schemas through references and alternatives. */
function isCombinatorial(root: object): boolean {
  const sizes = new Map<object, number>();
  /** Number of schemas that one schema expands to. A cycle is counted once. */
  const size = (schema: unknown): number => {
    if (!isObject(schema)) return 1;
    const known = sizes.get(schema);
    if (known !== undefined) return known;
    sizes.set(schema, 1);
    const { $ref } = schema;
    const parts = COMBINING.flatMap((key) => schemasIn(key, schema[key]));
    const target = typeof $ref === "string" ? [targetOf(root, $ref)] : [];
    const total = [...parts, ...target].reduce((sum: number, part) => sum + size(part), 1);
    sizes.set(schema, total);
    return total;
  };
  const open: unknown[] = [root];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (size(next) > TOOL_ALTERNATIVES_MAX) return true;
    for (const child of Object.values(next ?? {}))
      if (typeof child === "object" && child !== null) open.push(child);
  }
  return false;
}

/** What is wrong with the first reference that cannot be resolved. */
function referenceProblem(root: object): string | undefined {
  const seen = new Set<unknown>([root]); // references may be cyclic
  const open: unknown[] = [root];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (!isObject(next)) continue;
    const { $ref } = next;
    const target = typeof $ref === "string" ? targetOf(root, $ref) : undefined;
    if ("$ref" in next && target === undefined)
      return `has $ref ${describeValue($ref)}, which ${unresolved($ref)}`;
    for (const part of "$ref" in next ? [target] : partsOf(next)) {
      if (seen.has(part)) continue;
      seen.add(part);
      open.push(part);
    }
  }
  return undefined;
}

/** The direct subschemas of a schema without `$ref`. */
function partsOf(schema: Json): readonly unknown[] {
  const alternative = ALTERNATIVES.find((key) => schema[key] !== undefined && schema[key] !== null);
  if (alternative !== undefined) return schemasIn(alternative, schema[alternative]);
  if ("const" in schema || "enum" in schema) return [];
  return PARTS.flatMap((key) => schemasIn(key, schema[key]));
}

function unresolved(reference: unknown): string {
  if (typeof reference !== "string") return "is not a string";
  if (reference.startsWith("#/")) return "does not exist in the schema";
  return /^(#|$)/.test(reference)
    ? "is not a path from the root of the schema"
    : "points outside the schema, and remote schemas are not fetched";
}

/** The target of a reference as llama.cpp resolves it, without unescaping; undefined if it does not exist. */
function targetOf(root: object, reference: string): unknown {
  if (!reference.startsWith("#/")) return undefined;
  let value: unknown = root;
  for (const segment of reference.slice(2).split("/")) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Object.entries(value).find(([name]) => name === segment)?.[1];
  }
  return value;
}
