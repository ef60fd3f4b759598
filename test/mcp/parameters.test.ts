// Input schemas as parameters: what is kept, what is dropped, and that `strict` reports it.

import { describe, expect, test } from "bun:test";
import { parametersOf } from "../../src/mcp/parameters.ts";

describe("kept unchanged", () => {
  test.each<[string, Record<string, unknown>]>([
    ["an ordinary schema", { properties: { a: { type: "string", description: "A" } }, required: ["a"] }],
    ["names that are keywords", { properties: { $ref: { type: "string" }, not: { type: "integer" } } }],
    [
      "choices",
      {
        properties: { a: { enum: ["x", 1, null] }, b: { const: { c: [] } }, d: { type: ["string", "null"] } },
      },
    ],
    [
      "lists",
      { properties: { a: { type: "array", items: { anyOf: [{ type: "string" }, {}] }, minItems: 1 } } },
    ],
    ["bounds", { properties: { a: { type: "integer", minimum: 0, exclusiveMaximum: 5 } } }],
    [
      "open and closed objects",
      { properties: { a: { additionalProperties: { type: "string" } } }, additionalProperties: false },
    ],
    ["a pattern of the whole text", { properties: { a: { type: "string", pattern: "^[a-z]+$" } } }],
    [
      "references, one that comes back to itself among them",
      {
        $defs: { node: { properties: { next: { $ref: "#/$defs/node" } } } },
        properties: { a: { $ref: "#/$defs/node" }, b: { $ref: "#/properties/a" } },
      },
    ],
    [
      "names that are keywords and hold references",
      {
        $defs: { a: {} },
        properties: { default: { $ref: "#/$defs/a" }, items: { properties: { $ref: { type: "null" } } } },
      },
    ],
    ["a default that looks like a reference", { properties: { a: { default: { $ref: "#/nowhere" } } } }],
  ])("%s", (_name, schema) => {
    const whole = { type: "object", ...schema };
    expect(parametersOf(whole)).toEqual({ parameters: whole, strict: true });
  });
});

test("type and properties are always present, for templates; keywords without constraints are dropped", () => {
  const nothing = { parameters: { type: "object", properties: {} }, strict: true };
  expect(parametersOf({})).toEqual(nothing);
  expect(parametersOf({ $schema: "https://json-schema.org/draft/2020-12/schema", $id: "x" })).toEqual(
    nothing,
  );
});

describe("dropped, and no longer strict", () => {
  test.each<[string, unknown, unknown]>([
    ["a reference to another document", { $ref: "https://example.com/a.json" }, {}],
    ["a reference to the root", { $ref: "#" }, {}],
    ["a reference to a missing definition", { $ref: "#/$defs/none", description: "A" }, { description: "A" }],
    ["a reference to a value that is not a schema", { $ref: "#/properties" }, {}],
    ["an unknown type", { type: "file", title: "A" }, { title: "A" }],
    ["an empty list of values", { enum: [] }, {}],
    ["a pattern without anchors", { type: "string", pattern: "a" }, { type: "string" }],
    ["an invalid pattern", { type: "string", pattern: "^($" }, { type: "string" }],
    ["a negative length", { type: "string", minLength: -1 }, { type: "string" }],
    ["a bound of an older draft", { type: "number", exclusiveMinimum: true }, { type: "number" }],
    ["an unsupported keyword", { type: "array", uniqueItems: true }, { type: "array" }],
    ["a keyword with a value of the wrong kind", { description: 3, properties: [] }, {}],
    ["false", false, {}],
    ["not a schema", 7, {}],
  ])("%s", (_name, node, rest) => {
    expect(parametersOf({ type: "object", properties: { a: node } })).toEqual({
      parameters: { type: "object", properties: { a: rest } },
      strict: false,
    });
  });

  test("cyclic references", () => {
    const { parameters, strict } = parametersOf({
      $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } },
      properties: { x: { $ref: "#/$defs/a" } },
    });
    expect(parameters).toEqual({ type: "object", $defs: { a: {}, b: {} }, properties: { x: {} } });
    expect(strict).toBe(false);
  });

  test("a schema nested too deeply", () => {
    const deep = Array.from({ length: 1000 }).reduce((inner) => ({ items: inner }), {});
    expect(parametersOf({ properties: { a: deep } }).strict).toBe(false);
  });
});

test("`true` permits any value and stays strict", () => {
  expect(parametersOf({ properties: { a: true } })).toEqual({
    parameters: { type: "object", properties: { a: {} } },
    strict: true,
  });
});
