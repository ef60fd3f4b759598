// The operations of the running application as its OpenAPI document lists them, so that a test over all of them covers
// routes that are added later.

import Ajv2020, { type ValidateFunction } from "ajv/dist/2020";
import addFormats from "ajv-formats";
import { testApp } from "./app.ts";

export type Json = Readonly<Record<string, unknown>>;

export interface Operation {
  readonly method: string;
  /** As documented: `/v1/files/{id}`. */
  readonly pattern: string;
  /** Media types of the request body; empty where there is none. */
  readonly bodyTypes: readonly string[];
  readonly needsBody: boolean;
  /** Of a JSON body: its schema, an example, and the judgement of ajv. */
  readonly json?: JsonBody;
}

export interface JsonBody {
  readonly schema: Json;
  readonly example: Json;
  readonly isValid: ValidateFunction;
}

/** A path of an operation, with `id` for each of its parameters. */
export function pathOf({ pattern }: Operation, id = "x"): string {
  return pattern.replaceAll(/\{[^}]*\}/g, id);
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
}

interface DocumentedOperation {
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, { readonly schema?: { readonly $ref?: string } }>>;
  };
}

const document: Document = await (await testApp().request("/api-doc/openapi.json")).json();
const ajv = new Ajv2020({ strict: false });
addFormats(ajv);
ajv.addSchema({ $id: "http://svc/", components: document.components });

/** All of them, in the order of the document. */
export const OPERATIONS: readonly Operation[] = Object.entries(document.paths).flatMap(([pattern, methods]) =>
  Object.entries(methods).map(([method, { requestBody }]) => {
    const content = requestBody?.content ?? {};
    const name = content["application/json"]?.schema?.$ref?.split("/").at(-1);
    const needsBody = requestBody?.required === true;
    const common = { method: method.toUpperCase(), pattern, bodyTypes: Object.keys(content), needsBody };
    return name === undefined ? common : { ...common, json: jsonBody(name) };
  }),
);

/** Whether a path is of Ollama's dialect: its errors are texts, and it takes bodies of any declared type. */
export function isOllama(path: string): boolean {
  return path.startsWith("/api/");
}

/** Those that take JSON. */
export const JSON_OPERATIONS = OPERATIONS.flatMap((one) =>
  one.json === undefined ? [] : [{ ...one, json: one.json }],
);

/** What a reference of a schema leads to. */
export function componentOf(reference: string): Json {
  return document.components.schemas[reference.split("/").at(-1) ?? ""] ?? {};
}

function jsonBody(name: string): JsonBody {
  const schema = document.components.schemas[name] ?? {};
  const [example] = Array.isArray(schema["examples"]) ? (schema["examples"] as readonly Json[]) : [];
  if (example === undefined) throw new Error(`${name} has no example`);
  return { schema, example, isValid: ajv.compile({ $ref: `http://svc/#/components/schemas/${name}` }) };
}

/** Paths of the fields of a schema, lists as index 0, down to `depth` fields: ["tools", 0, "function"]. */
export function fieldPaths(schema: unknown, depth: number): readonly (readonly (string | number)[])[] {
  const paths = new Map<string, readonly (string | number)[]>();
  const walk = (node: unknown, path: readonly (string | number)[], left: number): void => {
    for (const one of alternatives(node)) {
      if (one["items"] !== undefined) walk(one["items"], [...path, 0], left);
      const { properties } = one;
      if (left === 0 || typeof properties !== "object" || properties === null) continue;
      for (const [key, inner] of Object.entries(properties)) {
        const field = [...path, key];
        paths.set(field.join("."), field);
        walk(inner, field, left - 1);
      }
    }
  };
  walk(schema, [], depth);
  return [...paths.values()];
}

function alternatives(schema: unknown): readonly Json[] {
  if (typeof schema !== "object" || schema === null) return [];
  const node = schema as Json;
  if (typeof node["$ref"] === "string") {
    return alternatives(componentOf(node["$ref"]));
  }
  const inner = ["anyOf", "oneOf", "allOf"].flatMap((key) => node[key] ?? []);
  return [node, ...inner.flatMap(alternatives)];
}

/** A copy of `body` in which the value at `path` is another; what is missing on the way is made. */
export function withValue(body: unknown, path: readonly (string | number)[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (typeof key === "number") {
    const list = Array.isArray(body) ? [...(body as unknown[])] : [];
    list[key] = withValue(list[key], rest, value);
    return list;
  }
  const object = typeof body === "object" && body !== null && !Array.isArray(body) ? (body as Json) : {};
  return { ...object, [key]: withValue(object[key], rest, value) };
}
