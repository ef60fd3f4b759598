// Schemas written from others: what llama.cpp's parsers read of one, with a type in every part for templates, and without arguments.

import { isObject, type Json } from "../core/json.ts";
import { mapSchemas, schemaKeyword } from "../core/schema-keywords.ts";
import { below, DEPTH_MAX, type JsonType, Schema, TYPES } from "./schema-shapes.ts";

/**
 * The schema reduced to what llama.cpp's parsers read: names of members and types. `nested`: also those within members, for a
 * format that writes them separately.
 */
export function parserSchema(
  schema: Schema,
  nested: boolean,
  pointers: readonly string[] = [""],
  depth = 0,
): Json {
  const types = schema.types(pointers);
  const type = [...types];
  const shapes =
    types.has("object") && (depth === 0 || nested) && depth < DEPTH_MAX ? schema.shapes(pointers) : [];
  const members = new Map<string, string[]>();
  for (const shape of shapes)
    for (const [name, parts] of shape.members) members.set(name, [...(members.get(name) ?? []), ...parts]);
  if (depth === 0 || (type.length === 1 && members.size > 0)) {
    const properties = [...members.keys()].map((name) => {
      const own = shapes.flatMap((shape) => (shape.members.has(name) ? [shape.members.get(name) ?? []] : []));
      return [name, parserMember(schema, nested, own, depth + 1)] as const;
    });
    const required = [...schema.alwaysRequired(pointers)];
    return { type: "object", properties: Object.fromEntries(properties), required };
  }
  if (nested && type.length === 1 && type[0] === "array") {
    const items = schema.items(pointers);
    return { type: "array", items: items.length === 0 ? {} : parserSchema(schema, nested, items, depth + 1) };
  }
  return ofTypes(types);
}

/** A member with several schemas, over all shapes. */
function parserMember(
  schema: Schema,
  nested: boolean,
  ways: readonly (readonly string[])[],
  depth: number,
): Json {
  const [first = []] = ways;
  if (ways.length === 1) return parserSchema(schema, nested, first, depth);
  const types = new Set(ways.flatMap((way) => [...schema.types(way)]));
  return ofTypes(types);
}

/** A schema of some types. One non-string type stands for all of them: some parsers know single types only. */
function ofTypes(types: ReadonlySet<JsonType>): Json {
  if (types.size === TYPES.length || types.size === 0) return {};
  const [only] = types;
  if (types.size === 1) return { type: only };
  const scalar = (["number", "boolean", "null"] as const).find((type) => types.has(type));
  return { type: types.has("string") || scalar === undefined ? [...types] : scalar };
}

/** The schema of a call's arguments: a function whose `properties` list none takes none. As any other object it would take all. */
export function closedIfEmpty(schema: Json): Json {
  const { properties, required } = schema;
  const saysMore = Object.keys(schema).some(
    (key) => !["type", "properties", "required"].includes(key) && schemaKeyword(key)?.isNote !== true,
  );
  const isEmpty = isObject(properties) && Object.keys(properties).length === 0;
  const requires = Array.isArray(required) && required.length > 0;
  return isEmpty && !requires && !saysMore ? { ...schema, additionalProperties: false } : schema;
}

/** The schema with a type in every part, which some templates require. */
export function typed(schema: Json): Json {
  const whole = new Schema(schema);
  const write = (node: unknown, pointer: string): unknown => {
    if (typeof node === "boolean") return {};
    if (!isObject(node)) return node;
    const parts = Object.entries(node).map(([key, value]) => [
      key,
      schemaKeyword(key)?.isCompiled === true
        ? mapSchemas(key, value, (one, ...words) => write(one, below(pointer, key, ...words)))
        : value,
    ]);
    const out: Record<string, unknown> = Object.fromEntries(parts);
    const types = out["type"] ?? [...whole.types([pointer])].slice(0, 1);
    if (Array.isArray(types)) out["type"] = types.find((one) => one !== "null") ?? "string";
    return out;
  };
  return write(schema, "") as Json;
}
