// What an OpenAPI document says about bodies, flattened to lists of field paths that can be compared:
// `messages[].role!` is a required field of the objects in the list `messages`.

import { isDeepStrictEqual } from "node:util";
import { isObject } from "../../src/core/json.ts";

type Json = Readonly<Record<string, unknown>>;

/** Fields of an operation's request and of its 200 answer; absent where that is not JSON with fields. */
export interface OperationShape {
  readonly request?: readonly string[];
  readonly response?: readonly string[];
}

/** By method and path: `POST /v1/files/{id}`; the names of path parameters do not count. */
export type ApiShape = Readonly<Record<string, OperationShape>>;

/** Below this depth bodies are the model's or the client's own matter. */
const DEPTH_MAX = 2;

function at(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), value);
}

export function apiShape(document: unknown): ApiShape {
  const shapes: Record<string, OperationShape> = {};
  const paths = at(document, "paths");
  for (const [path, methods] of Object.entries(isObject(paths) ? paths : {})) {
    for (const [method, operation] of Object.entries(isObject(methods) ? methods : {})) {
      const json = ["content", "application/json", "schema"];
      const request = bodyFields(document, at(operation, "requestBody", ...json));
      const response = bodyFields(document, at(operation, "responses", "200", ...json));
      shapes[`${method.toUpperCase()} ${path.replaceAll(/\{[^}]*\}/g, "{}")}`] = {
        ...(request.length === 0 ? {} : { request }),
        ...(response.length === 0 ? {} : { response }),
      };
    }
  }
  return shapes;
}

function bodyFields(document: unknown, schema: unknown): readonly string[] {
  const found = new Map<string, boolean>();
  collect(document, schema, { prefix: "", depth: 0, found });
  return [...found].map(([path, required]) => (required ? `${path}!` : path)).toSorted(alphabetically);
}

interface Walk {
  readonly prefix: string;
  readonly depth: number;
  readonly found: Map<string, boolean>;
}

function collect(document: unknown, schema: unknown, walk: Walk): void {
  for (const one of alternatives(document, schema)) {
    if (isObject(one["items"])) {
      const prefix = walk.prefix === "" ? "[]." : `${walk.prefix.slice(0, -1)}[].`;
      collect(document, one["items"], { ...walk, prefix });
    }
    if (!isObject(one["properties"]) || walk.depth === DEPTH_MAX) continue;
    const required = Array.isArray(one["required"]) ? one["required"] : [];
    for (const [name, inner] of Object.entries(one["properties"])) {
      const path = walk.prefix + name;
      // Where alternatives differ, a field is required that all of those seen so far require.
      walk.found.set(path, required.includes(name) && walk.found.get(path) !== false);
      collect(document, inner, { ...walk, prefix: `${path}.`, depth: walk.depth + 1 });
    }
  }
}

/** What a schema may stand for: references followed, `anyOf` and the like opened. */
function alternatives(document: unknown, schema: unknown): readonly Json[] {
  if (!isObject(schema)) return [];
  const { $ref } = schema;
  if (typeof $ref === "string") {
    return alternatives(document, at(document, "components", "schemas", $ref.split("/").at(-1) ?? ""));
  }
  const inner = ["anyOf", "oneOf", "allOf"].flatMap((key) => {
    const list = schema[key];
    return Array.isArray(list) ? list.flatMap((one) => alternatives(document, one)) : [];
  });
  return [schema, ...inner];
}

export function alphabetically(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** One line for each way in which `ours` is not `theirs`. */
export function differences(theirs: ApiShape, ours: ApiShape): readonly string[] {
  const lines: string[] = [];
  for (const operation of new Set([...Object.keys(theirs), ...Object.keys(ours)])) {
    const [their, our] = [theirs[operation], ours[operation]];
    if (our === undefined || their === undefined) {
      lines.push(`${operation} | – | ${our === undefined ? "missing" : "svc only"}`);
      continue;
    }
    for (const side of ["request", "response"] as const) {
      lines.push(
        ...fieldDifferences(their[side] ?? [], our[side] ?? []).map((one) => `${operation} | ${side} ${one}`),
      );
    }
  }
  return lines.toSorted(alphabetically);
}

function fieldDifferences(theirs: readonly string[], ours: readonly string[]): readonly string[] {
  if (isDeepStrictEqual(theirs, ours)) return [];
  const read = (fields: readonly string[]) =>
    new Map(fields.map((field) => [field.replace(/!$/, ""), field.endsWith("!")]));
  const [their, our] = [read(theirs), read(ours)];
  // Where one side says nothing about the inside of a field, there is nothing to compare.
  const isOpen = (field: string): boolean => {
    const parent = /^(.*\w)(?:\[\])?\./.exec(field)?.[1];
    if (parent === undefined) return false;
    return ![their, our].every((side) =>
      [...side.keys()].some((key) => key.startsWith(parent) && /^(?:\[\])?\./.test(key.slice(parent.length))),
    );
  };
  const lines: string[] = [];
  for (const [field, required] of their) {
    if (isOpen(field)) continue;
    const mine = our.get(field);
    if (mine === undefined) lines.push(`\`${field}\` | missing`);
    else if (mine !== required) lines.push(`\`${field}\` | ${mine ? "required here" : "optional here"}`);
  }
  for (const field of our.keys()) {
    if (!their.has(field) && !isOpen(field)) lines.push(`\`${field}\` | svc only`);
  }
  return lines;
}
