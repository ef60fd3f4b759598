// Values that mostly follow a JSON schema of the OpenAPI document, and now and then do not.

import fc from "fast-check";
import { isObject } from "../../src/core/json.ts";
import { componentOf, type Json } from "./operations.ts";

/** Levels of a value; below, there is something simple. */
const DEPTH = 6;

/** What people and machines send by mistake, or on purpose. */
const HOSTILE: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    "",
    0,
    -1,
    1e308,
    2 ** 53,
    [],
    {},
    [null],
    "default",
    "\u0000",
    "\uD800",
  ),
  fc.constantFrom<unknown>("x".repeat(5000), "../../etc/passwd", "__proto__", {
    constructor: { prototype: 1 },
  }),
  fc.string({ unit: "grapheme", maxLength: 30 }),
  fc.integer(),
  fc.jsonValue({ maxDepth: 3 }),
);

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const bound = (value: unknown, fallback: number): number => (typeof value === "number" ? value : fallback);

/** Values for a schema; one in twenty, at any place, is anything. */
export function fromSchema(schema: unknown, depth = DEPTH): fc.Arbitrary<unknown> {
  return fc.oneof({ arbitrary: following(schema, depth), weight: 19 }, { arbitrary: HOSTILE, weight: 1 });
}

function following(schema: unknown, depth: number): fc.Arbitrary<unknown> {
  if (!isObject(schema) || depth === 0) return HOSTILE;
  const { $ref, type } = schema;
  if (typeof $ref === "string")
    return fc.constant($ref).chain((name) => following(componentOf(name), depth - 1));
  if ("const" in schema) return fc.constant(schema["const"]);
  if (Array.isArray(schema["enum"])) return fc.constantFrom(...list(schema["enum"]));
  const alternatives = [...list(schema["anyOf"]), ...list(schema["oneOf"])];
  if (alternatives.length > 0) return fc.oneof(...alternatives.map((one) => fromSchema(one, depth - 1)));
  if (Array.isArray(type))
    return fc.oneof(...list(type).map((one) => following({ ...schema, type: one }, depth)));
  return ofType(schema, depth);
}

function ofType(schema: Json, depth: number): fc.Arbitrary<unknown> {
  const minimum = bound(schema["minimum"], -10);
  const maximum = bound(schema["maximum"], Math.max(minimum, 1000));
  switch (schema["type"]) {
    case "string":
      return fc.string({
        minLength: Math.min(bound(schema["minLength"], 0), 100),
        maxLength: 100,
        unit: "grapheme",
      });
    case "integer":
      return fc.integer({
        min: Math.max(Math.ceil(minimum), -(2 ** 31)),
        max: Math.min(maximum, 2 ** 31 - 1),
      });
    case "number":
      return fc.double({ min: minimum, max: maximum, noNaN: true });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return fc.array(fromSchema(schema["items"], depth - 1), {
        minLength: bound(schema["minItems"], 0),
        maxLength: 4,
      });
    case "object":
      return object(schema, depth);
    default:
      return HOSTILE;
  }
}

/** The required members nearly always, of the others a few. */
function object(schema: Json, depth: number): fc.Arbitrary<unknown> {
  const properties = isObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  const required = new Set(list(schema["required"]));
  const share = Math.min(1, 4 / Math.max(1, properties.length));
  const members = properties.map(([name, member]) => {
    const isWanted = fc
      .double({ min: 0, max: 1, noNaN: true })
      .map((chance) => chance < (required.has(name) ? 0.97 : share));
    return isWanted.chain((wanted): fc.Arbitrary<readonly (readonly [string, unknown])[]> =>
      wanted ? fromSchema(member, depth - 1).map((value) => [[name, value]]) : fc.constant([]),
    );
  });
  return fc.tuple(...members).map((found) => Object.fromEntries(found.flat()));
}
