// Validates `$ref` in tool schemas. llama.cpp resolves only references of the form `#/path`, without unescaping; any other
// would fail while the prompt is rendered, with an error that names no tool. Expects schemas bounded by tool-size.ts.

import { ServiceError } from "../../core/error.ts";
import { keywordsWhere, schemasIn } from "../../core/schema-keywords.ts";
import { isRecord, describeValue } from "./check.ts";

const PARTS = keywordsWhere(({ resolved }) => resolved === "part");
const ALTERNATIVES = keywordsWhere(({ resolved }) => resolved === "alternative");

const FIX = 'copy the schema into $defs and refer to it as "#/$defs/NAME"';

/** Throws `invalid_request` for a reference that cannot be resolved; `path` is the schema's path in the body. */
export function checkReferences(root: object, path: string): void {
  const seen = new Set<unknown>([root]); // references may be cyclic
  const open: unknown[] = [root];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (!isRecord(next)) continue;
    const parts = "$ref" in next ? [followed(root, next["$ref"], path)] : partsOf(next);
    for (const part of parts) {
      if (seen.has(part)) continue;
      seen.add(part);
      open.push(part);
    }
  }
}

/** The direct subschemas of a schema without `$ref`. */
function partsOf(schema: Readonly<Record<string, unknown>>): readonly unknown[] {
  const alternative = ALTERNATIVES.find((key) => schema[key] !== undefined && schema[key] !== null);
  if (alternative !== undefined) return schemasIn(alternative, schema[alternative]);
  if ("const" in schema || "enum" in schema) return [];
  return PARTS.flatMap((key) => schemasIn(key, schema[key]));
}

function followed(root: object, reference: unknown, path: string): unknown {
  const target = typeof reference === "string" ? targetOf(root, reference) : undefined;
  if (target !== undefined) return target;
  const message = `${path} has $ref ${describeValue(reference)}, which ${problemOf(reference)}; ${FIX}`;
  throw new ServiceError("invalid_request", message, { param: path });
}

function problemOf(reference: unknown): string {
  if (typeof reference !== "string") return "is not a string";
  if (reference.startsWith("#/")) return "does not exist in the schema";
  return /^(#|$)/.test(reference)
    ? "is not a path from the root of the schema"
    : "points outside the schema, and remote schemas are not fetched";
}

/** The target of a reference as llama.cpp resolves it, without unescaping; undefined if it does not exist. */
export function targetOf(root: object, reference: string): unknown {
  if (!reference.startsWith("#/")) return undefined;
  let value: unknown = root;
  for (const segment of reference.slice(2).split("/")) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Object.entries(value).find(([name]) => name === segment)?.[1];
  }
  return value;
}
