// References in the schemas of tools, as far as calls are held to them. llama.cpp follows those that are a path from the
// schema's own beginning, read as it stands; any other would only be found out while the prompt is rendered, for all tools
// at once. Schemas are small by now: tool-size.ts.

import { ServiceError } from "../../core/error.ts";
import { isRecord, describeValue } from "./check.ts";

/** Hold a schema, and hold several by name or number. */
const CHILD = ["additionalProperties", "items"] as const;
const CHILDREN = ["properties", "items", "prefixItems", "allOf"] as const;

const FIX = 'copy what is meant into $defs and refer to it as "#/$defs/NAME"';

/** Throws `invalid_request` for a reference that cannot be followed; `path` is the schema's place in the body. */
export function checkReferences(root: object, path: string): void {
  const seen = new Set<unknown>([root]); // references may go in circles
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

/** The schemas that a schema without a reference applies. */
function partsOf(schema: Readonly<Record<string, unknown>>): readonly unknown[] {
  const alternatives = schema["oneOf"] ?? schema["anyOf"];
  if (alternatives !== undefined) return Array.isArray(alternatives) ? alternatives : [];
  if ("const" in schema || "enum" in schema) return [];
  const several = CHILDREN.flatMap((key) => {
    const parts = schema[key];
    return typeof parts === "object" && parts !== null && (Array.isArray(parts) || key === "properties")
      ? Object.values(parts)
      : [];
  });
  return [...several, ...CHILD.map((key) => schema[key]).filter((part) => isRecord(part))];
}

function followed(root: object, reference: unknown, path: string): unknown {
  const target = typeof reference === "string" ? targetOf(root, reference) : undefined;
  if (target !== undefined) return target;
  const message = `${path} has $ref ${describeValue(reference)}, which ${problemOf(reference)}; ${FIX}`;
  throw new ServiceError("invalid_request", message, { param: path });
}

function problemOf(reference: unknown): string {
  if (typeof reference !== "string") return "is no text";
  if (reference.startsWith("#/")) return "finds nothing in the schema";
  return /^(#|$)/.test(reference)
    ? "is no path from the beginning of the schema"
    : "leads out of the schema, and nothing is fetched";
}

/** What a reference points to as llama.cpp reads it, words as they stand; undefined where that is nothing. */
export function targetOf(root: object, reference: string): unknown {
  if (!reference.startsWith("#/")) return undefined;
  let value: unknown = root;
  for (const word of reference.slice(2).split("/")) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Object.entries(value).find(([name]) => name === word)?.[1];
  }
  return value;
}
