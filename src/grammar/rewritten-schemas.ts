// Schemas written from others: what llama.cpp's parsers read of one, and with a type in every part for templates.

import { compiledHolder } from "../core/schema-keywords.ts";
import { below, DEPTH_MAX, isObject, type Json, type JsonType, Schema, TYPES } from "./schema-shapes.ts";

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

/** The schema with a type in every part, which some templates require. */
export function typed(schema: Json): Json {
  const whole = new Schema(schema);
  const write = (value: unknown, pointer: string, isSchema: boolean): unknown => {
    if (isSchema && typeof value === "boolean") return {};
    if (Array.isArray(value)) return value.map((one, i) => write(one, below(pointer, i), isSchema));
    if (!isObject(value)) return value;
    const parts = Object.entries(value).map(([key, part]) => {
      const held = isSchema ? compiledHolder(key) : undefined;
      const keeps = held === "schema or flag" && typeof part === "boolean";
      const at = below(pointer, key);
      const inner = held === "map" ? members(part, at) : write(part, at, held !== undefined);
      return [key, keeps ? part : inner] as const;
    });
    const out: Record<string, unknown> = Object.fromEntries(parts);
    const [first = "string"] = isSchema && out["type"] === undefined ? whole.types([pointer]) : [];
    if (isSchema && out["type"] === undefined) out["type"] = first === "null" ? "string" : first;
    if (isSchema && Array.isArray(out["type"]))
      out["type"] = out["type"].find((one) => one !== "null") ?? "string";
    return out;
  };
  const members = (value: unknown, pointer: string): unknown =>
    isObject(value)
      ? Object.fromEntries(
          Object.entries(value).map(([name, one]) => [name, write(one, below(pointer, name), true)]),
        )
      : value;
  return write(schema, "", true) as Json;
}
