// Bounds the size of tool schemas. Templates and call grammars are built from them in native code that cannot be
// interrupted: cubic in the properties of an object, recursive along references, multiplicative over combined alternatives.

import { ServiceError } from "../../core/error.ts";
import { keywordsWhere, schemasIn } from "../../core/schema-keywords.ts";
import {
  TOOL_ALTERNATIVES_MAX,
  TOOL_PROPERTIES_MAX,
  TOOL_SCHEMA_DEPTH_MAX,
  TOOL_SCHEMA_PARTS_MAX,
} from "./limits.ts";
import { isRecord } from "./check.ts";
import { targetOf } from "./tool-references.ts";

/** Throws `invalid_request` for a schema that is too large, deep, wide or combinatorial; `path` is its path in the body. */
export function checkToolSize(schema: object, path: string): void {
  const problem = shapeProblem(schema) ?? (isCombinatorial(schema) ? COMBINATORIAL : undefined);
  if (problem === undefined) return;
  const message = `${path} ${problem}; simplify the arguments of the tool`;
  throw new ServiceError("invalid_request", message, { param: path });
}

const COMBINING = keywordsWhere(({ combines }) => combines === true);

const COMBINATORIAL = `combines more than ${TOOL_ALTERNATIVES_MAX} schemas in one, references included`;

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
    if (!isRecord(schema)) return 1;
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
