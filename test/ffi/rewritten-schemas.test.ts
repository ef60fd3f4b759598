// Schemas as llama.cpp's parsers read them: parts to which no other schema adds are reduced without their shapes.

import { expect, test } from "bun:test";
import { parserSchema } from "../../src/grammar/rewritten-schemas.ts";
import { isObject, type Json, Schema, TYPES } from "../../src/grammar/schema-shapes.ts";
import { randomOf } from "../helpers/faults.ts";

const NAMES = ["a", "b/c", "~", "required", "items"];

function schema(random: () => number, depth: number): unknown {
  const below = (n: number): number => Math.floor(random() * n);
  const some = <T>(list: readonly T[]): T[] => list.filter(() => random() < 0.4);
  const inner = (): unknown => schema(random, depth + 1);
  if (random() < 0.1) return random() < 0.5;
  const type = [...TYPES, "integer", some(TYPES), undefined, "object", "object"][below(11)];
  const parts: Json = {
    ...(type === undefined ? {} : { type }),
    ...(random() < 0.1 ? { nullable: true } : {}),
    ...(random() < 0.2 ? { enum: [1, "x", null, {}].slice(below(4)) } : {}),
    ...(random() < 0.1 ? { const: "x" } : {}),
    ...(random() < 0.7 ? { required: some([...NAMES, "other", 5]) } : {}),
    ...(random() < 0.3 ? { dependentRequired: { a: ["b/c"] } } : {}),
  };
  if (depth > 3) return parts;
  return {
    ...parts,
    ...(random() < 0.7 ? { properties: Object.fromEntries(some(NAMES).map((name) => [name, inner()])) } : {}),
    ...(random() < 0.5 ? { items: inner() } : {}),
    ...(random() < 0.15 ? { anyOf: [inner(), inner()] } : {}),
    ...(random() < 0.1 ? { $ref: "#/properties/a" } : {}),
  };
}

/** The schema with an empty choice in each part, which adds nothing and has it reduced by its shapes. */
function withShapes(value: unknown, isSchema = true): unknown {
  if (Array.isArray(value)) return value.map((one) => withShapes(one, isSchema));
  if (!isObject(value)) return value;
  const parts = Object.entries(value).map(([key, part]) => {
    const holds = isSchema && ["items", "anyOf"].includes(key);
    if (isSchema && key === "properties" && isObject(part))
      return [key, Object.fromEntries(Object.entries(part).map(([name, one]) => [name, withShapes(one)]))];
    return [key, holds ? withShapes(part) : part];
  });
  return { ...Object.fromEntries(parts), ...(isSchema && !("anyOf" in value) ? { anyOf: [] } : {}) };
}

test("a schema is reduced as by its shapes", () => {
  const random = randomOf(3);
  for (let run = 0; run < 2000; run++) {
    const root = schema(random, 0);
    if (!isObject(root)) continue;
    for (const nested of [true, false]) {
      const reduced = parserSchema(new Schema(root), nested);
      const byShapes = parserSchema(new Schema(withShapes(root) as Json), nested);
      expect(JSON.stringify(reduced)).toBe(JSON.stringify(byShapes));
    }
  }
});
