// Input schemas as parameters: what is kept, what is left out, and that it is said.

import { describe, expect, test } from "bun:test";
import { parametersOf } from "../../src/mcp/parameters.ts";

describe("kept as it is", () => {
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

test("templates read type and properties, so both are there; what says nothing to a caller goes", () => {
  const nothing = { parameters: { type: "object", properties: {} }, strict: true };
  expect(parametersOf({})).toEqual(nothing);
  expect(parametersOf({ $schema: "https://json-schema.org/draft/2020-12/schema", $id: "x" })).toEqual(
    nothing,
  );
});

describe("left out, and no longer strict", () => {
  test.each<[string, unknown, unknown]>([
    ["a reference into the world", { $ref: "https://example.com/a.json" }, {}],
    ["a reference to the whole", { $ref: "#" }, {}],
    ["a reference to nowhere", { $ref: "#/$defs/none", description: "A" }, { description: "A" }],
    ["a reference to what is no schema", { $ref: "#/properties" }, {}],
    ["an unknown type", { type: "file", title: "A" }, { title: "A" }],
    ["an empty list of values", { enum: [] }, {}],
    ["a pattern of a part of the text", { type: "string", pattern: "a" }, { type: "string" }],
    ["a pattern that is none", { type: "string", pattern: "^($" }, { type: "string" }],
    ["a length below nothing", { type: "string", minLength: -1 }, { type: "string" }],
    ["a bound of an older draft", { type: "number", exclusiveMinimum: true }, { type: "number" }],
    ["what no grammar holds", { type: "array", uniqueItems: true }, { type: "array" }],
    ["a keyword with a value of the wrong kind", { description: 3, properties: [] }, {}],
    ["false", false, {}],
    ["no schema at all", 7, {}],
  ])("%s", (_name, node, rest) => {
    expect(parametersOf({ type: "object", properties: { a: node } })).toEqual({
      parameters: { type: "object", properties: { a: rest } },
      strict: false,
    });
  });

  test("references in a circle", () => {
    const { parameters, strict } = parametersOf({
      $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } },
      properties: { x: { $ref: "#/$defs/a" } },
    });
    expect(parameters).toEqual({ type: "object", $defs: { a: {}, b: {} }, properties: { x: {} } });
    expect(strict).toBe(false);
  });

  test("a schema without a bottom", () => {
    const deep = Array.from({ length: 1000 }).reduce((inner) => ({ items: inner }), {});
    expect(parametersOf({ properties: { a: deep } }).strict).toBe(false);
  });
});

test("`true` stands for anything, and is no loss", () => {
  expect(parametersOf({ properties: { a: true } })).toEqual({
    parameters: { type: "object", properties: { a: {} } },
    strict: true,
  });
});
