// JSON schemas that are hard on a grammar compiler, each by another means. Every one has finite answers that are quickly
// reached, so that a model may be walked through it at random.

/** Name → schema. */
export const SCHEMAS: Readonly<Record<string, unknown>> = {
  // ---- scalars -------------------------------------------------------------------------------------------------
  null: { type: "null" },
  boolean: { type: "boolean" },
  integer: { type: "integer" },
  number: { type: "number" },
  "unbounded string": { type: "string" },
  "several types": { type: ["integer", "null", "boolean"] },
  "any value": {},
  "true as a schema": { type: "array", items: true, minItems: 1, maxItems: 2 },
  "integer within bounds": { type: "integer", minimum: -17, maximum: 1203 },
  "safe integers": { type: "integer", minimum: -9007199254740991, maximum: 9007199254740991 },
  "one-sided bound": { type: "integer", minimum: 100000 },
  "number within exclusive bounds": { type: "number", exclusiveMinimum: -0.5, exclusiveMaximum: 3.25 },
  "number beside zero": { type: "number", exclusiveMinimum: 0 },
  "fractional bounds": { type: "number", minimum: 0.125, maximum: 0.25 },
  "bounds of draft 4": {
    $schema: "http://json-schema.org/draft-04/schema#",
    type: "integer",
    minimum: 3,
    exclusiveMinimum: true,
    maximum: 9,
  },
  "multiple of an integer": { type: "integer", multipleOf: 7, minimum: -100, maximum: 1000 },
  "multiple of a fraction": { type: "number", multipleOf: 0.25, minimum: 0, maximum: 20 },
  "two divisors": {
    type: "integer",
    allOf: [{ multipleOf: 4 }, { multipleOf: 6 }],
    minimum: 1,
    maximum: 999,
  },

  // ---- strings -------------------------------------------------------------------------------------------------
  "string of a length": { type: "string", minLength: 3, maxLength: 12 },
  "characters count, not bytes": { type: "string", minLength: 2, maxLength: 2, pattern: "^[äöü漢字🦊]+$" },
  "anchored pattern": { type: "string", pattern: "^[A-Z]{2}-\\d{4}(-[a-f\\d]+)?$" },
  "pattern to be found anywhere": { type: "string", pattern: "ab+c", maxLength: 20 },
  "half-anchored alternatives": { type: "string", pattern: "^foo|bar$", maxLength: 12 },
  "dot and white space as in ECMAScript": { type: "string", pattern: "^.{1,4}\\s\\S\\w$" },
  "character classes with brackets": { type: "string", pattern: "^[[\\]&~\\-^]{2,5}$" },
  "named group and escapes": { type: "string", pattern: "^(?<stop>a|b)\\/\\u00e9\\x41\\t$" },
  "quotes and backslashes": { enum: ['"', "\\", 'a"b\\c', "tab\tnew\nline"] },
  "unicode literals": { enum: ["Grüße", "日本語", "🦊🦊", "\u2028", "\u00a0"] },

  // ---- formats -------------------------------------------------------------------------------------------------
  date: { type: "string", format: "date" },
  time: { type: "string", format: "time" },
  "date-time": { type: "string", format: "date-time" },
  duration: { type: "string", format: "duration" },
  email: { type: "string", format: "email" },
  hostname: { type: "string", format: "hostname" },
  "addresses of both kinds": {
    anyOf: [
      { format: "ipv4", type: "string" },
      { format: "ipv6", type: "string" },
    ],
  },
  uuid: { type: "string", format: "uuid" },
  uri: { type: "string", format: "uri" },
  "uri-reference": { type: "string", format: "uri-reference" },
  "other formats": {
    type: "array",
    prefixItems: [
      { type: "string", format: "byte" },
      { type: "string", format: "json-pointer" },
      { type: "integer", format: "int32" },
      { type: "number", format: "double" },
    ],
    minItems: 4,
    items: false,
  },
  "format and pattern together": { type: "string", format: "date", pattern: "^20" },

  // ---- arrays --------------------------------------------------------------------------------------------------
  "array of a size": {
    type: "array",
    items: { type: "integer", minimum: 0, maximum: 9 },
    minItems: 3,
    maxItems: 5,
  },
  "empty array": { type: "array", maxItems: 0 },
  tuple: {
    type: "array",
    prefixItems: [{ type: "string", maxLength: 4 }, { type: "boolean" }, { const: null }],
    items: false,
    minItems: 2,
  },
  "tuple of draft 7": {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "array",
    items: [{ type: "integer" }, { type: "boolean" }],
    additionalItems: { type: "null" },
    minItems: 3,
    maxItems: 5,
  },
  "arrays in arrays": {
    type: "array",
    maxItems: 3,
    items: { type: "array", maxItems: 2, items: { type: "array", maxItems: 2, items: { type: "boolean" } } },
  },
  "array that is long": { type: "array", items: { enum: [0, 1] }, minItems: 64, maxItems: 64 },

  // ---- objects -------------------------------------------------------------------------------------------------
  "required and optional members": {
    type: "object",
    properties: { id: { type: "integer" }, tag: { type: "string", maxLength: 6 }, on: { type: "boolean" } },
    required: ["on"],
    additionalProperties: false,
  },
  "open object": { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
  "typed free members": {
    type: "object",
    additionalProperties: { type: "integer", minimum: 0 },
    maxProperties: 3,
  },
  "pattern properties": {
    type: "object",
    patternProperties: { "^x_": { type: "integer" }, "^y_": { type: "boolean" } },
    additionalProperties: false,
  },
  "declared members beside patterns": {
    type: "object",
    properties: { x_fixed: { minimum: 10 }, other: { const: "o" } },
    patternProperties: { "^x_": { type: "integer" } },
    required: ["x_fixed"],
    additionalProperties: { type: "null" },
  },
  "names with odd characters": {
    type: "object",
    properties: {
      'a"b': { const: 1 },
      "back\\slash": { const: 2 },
      "": { const: 3 },
      "ключ 🗝": { const: 4 },
    },
    required: ['a"b', "back\\slash", "", "ключ 🗝"],
    additionalProperties: false,
  },
  "member that is required but not described": {
    type: "object",
    required: ["free"],
    additionalProperties: { type: "boolean" },
  },
  "at least one member": {
    type: "object",
    properties: { a: { const: 1 }, b: { const: 2 }, c: { const: 3 } },
    minProperties: 1,
    additionalProperties: false,
  },
  "names from a list": {
    type: "object",
    propertyNames: { type: "string", enum: ["red", "green"] },
    additionalProperties: { type: "number", minimum: 0, maximum: 1 },
    required: ["red"],
  },
  "names by a pattern": {
    type: "object",
    propertyNames: { pattern: "^[a-z]{2}$" },
    additionalProperties: { type: "integer" },
  },
  "forbidden member": {
    type: "object",
    properties: { ok: { type: "boolean" }, no: false },
    required: ["ok"],
    additionalProperties: { type: "integer" },
  },

  // ---- combinations --------------------------------------------------------------------------------------------
  "literals of all kinds": { enum: [null, true, 1.5, -3, "s", [1, "a"], { k: [] }] },
  "constant object": { const: { a: [1, { b: null }], c: "\u00e9" } },
  anyOf: {
    anyOf: [
      { type: "string", maxLength: 5 },
      { type: "integer", minimum: 5 },
      { type: "array", maxItems: 1 },
    ],
  },
  "oneOf by type": { oneOf: [{ type: "string", maxLength: 5 }, { type: "number" }, { type: "null" }] },
  "oneOf by a constant member": {
    oneOf: [
      {
        type: "object",
        properties: { kind: { const: "circle" }, radius: { type: "number", minimum: 0 } },
        required: ["kind", "radius"],
        additionalProperties: false,
      },
      {
        type: "object",
        properties: { kind: { const: "rect" }, w: { type: "integer" }, h: { type: "integer" } },
        required: ["kind", "w", "h"],
        additionalProperties: false,
      },
    ],
  },
  "oneOf by references": {
    $defs: {
      cat: {
        type: "object",
        properties: { pet: { const: "cat", type: "string" }, lives: { type: "integer" } },
        required: ["pet"],
      },
      dog: {
        type: "object",
        properties: { pet: { enum: ["dog", "hound"] }, friend: { $ref: "#/$defs/pet" } },
        required: ["pet"],
        additionalProperties: false,
      },
      pet: {
        oneOf: [{ $ref: "#/$defs/cat" }, { $ref: "#/$defs/dog" }],
        discriminator: { propertyName: "pet" },
      },
    },
    $ref: "#/$defs/pet",
  },
  "allOf over objects": {
    allOf: [
      { type: "object", properties: { a: { type: "integer" } }, required: ["a"] },
      { type: "object", properties: { b: { type: "string", maxLength: 3 } }, required: ["b"] },
      { properties: { a: { minimum: 0, maximum: 50 } } },
    ],
    additionalProperties: true,
  },
  "anyOf beside properties": {
    type: "object",
    properties: { a: { type: "integer" }, b: { type: "integer" } },
    anyOf: [{ required: ["a"] }, { required: ["b"] }],
    additionalProperties: false,
  },
  "assertions without a type": { minimum: 3, maxLength: 2, maxItems: 1, maxProperties: 0 },
  nullable: { type: "string", nullable: true, enum: ["a", null] },
  "enum narrowed by a type": { enum: [1, "1", 2, "2", null], type: "string" },

  // ---- references ----------------------------------------------------------------------------------------------
  "linked list": {
    $defs: {
      node: {
        type: "object",
        properties: {
          value: { type: "integer" },
          next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] },
        },
        required: ["value", "next"],
        additionalProperties: false,
      },
    },
    $ref: "#/$defs/node",
  },
  tree: {
    type: "object",
    properties: { leaf: { type: "boolean" }, children: { type: "array", items: { $ref: "#" }, maxItems: 2 } },
    required: ["leaf"],
    additionalProperties: false,
  },
  "references by id and anchor": {
    $id: "https://example.org/root.json",
    type: "array",
    prefixItems: [
      { $ref: "#small" },
      { $ref: "item.json" },
      { $ref: "https://example.org/root.json#/$defs/c" },
    ],
    items: false,
    minItems: 3,
    $defs: {
      a: { $anchor: "small", type: "integer", minimum: 0, maximum: 9 },
      b: { $id: "item.json", enum: ["i"] },
      c: { type: "null" },
    },
  },
  "reference with a percent sign and a slash": {
    $defs: { "a/b%c": { const: "found" } },
    type: "array",
    items: { $ref: "#/$defs/a~1b%25c" },
    minItems: 1,
    maxItems: 2,
  },
  "mutual recursion": {
    $defs: {
      even: { type: "array", items: { $ref: "#/$defs/odd" }, maxItems: 1 },
      odd: { type: "object", properties: { e: { $ref: "#/$defs/even" } }, additionalProperties: false },
    },
    $ref: "#/$defs/even",
  },
  "reference with siblings": {
    $defs: { base: { type: "object", properties: { a: { type: "integer" } }, required: ["a"] } },
    $ref: "#/$defs/base",
    properties: { a: { maximum: 3 }, b: { const: true } },
    required: ["b"],
  },
  "expression grammar": {
    $defs: {
      expr: {
        anyOf: [
          { type: "integer", minimum: 0, maximum: 9 },
          {
            type: "object",
            properties: {
              op: { enum: ["+", "*"] },
              args: { type: "array", items: { $ref: "#/$defs/expr" }, minItems: 1, maxItems: 2 },
            },
            required: ["op", "args"],
            additionalProperties: false,
          },
        ],
      },
    },
    $ref: "#/$defs/expr",
  },
  "a form as clients send it": {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Order",
    description: "An order",
    type: "object",
    properties: {
      customer: { $ref: "#/definitions/Person", description: "who" },
      lines: {
        type: "array",
        minItems: 1,
        maxItems: 3,
        items: {
          type: "object",
          properties: {
            sku: { type: "string", pattern: "^[A-Z]{3}\\d{3}$" },
            count: { type: "integer", minimum: 1 },
          },
          required: ["sku", "count"],
          additionalProperties: false,
        },
      },
      placed: { type: "string", format: "date-time" },
      note: { anyOf: [{ type: "string", maxLength: 20 }, { type: "null" }], default: null },
    },
    required: ["customer", "lines", "placed"],
    additionalProperties: false,
    definitions: {
      Person: {
        type: "object",
        properties: {
          name: { type: "string", minLength: 1, maxLength: 20 },
          mail: { type: "string", format: "email" },
        },
        required: ["name"],
        additionalProperties: false,
      },
    },
  },
  "not a value": { type: "integer", not: { const: 3 }, minimum: 0, maximum: 5 },
  "not one of listed values": { enum: ["a", "b", "c"], not: { enum: ["a", "c"] } },
  "not a word": { type: "string", maxLength: 4, not: { const: "no" } },
  "not a type": { not: { type: ["object", "array", "number"] } },
  "not with a member": {
    type: "object",
    properties: { a: {}, b: {} },
    not: { required: ["a"] },
    additionalProperties: false,
  },
  "a member that depends on another": {
    type: "object",
    properties: { card: { type: "integer" }, address: { type: "boolean" } },
    dependentRequired: { card: ["address"] },
    additionalProperties: false,
  },
  "a schema that depends on a member": {
    type: "object",
    properties: { a: { type: "boolean" }, b: { type: "boolean" } },
    dependencies: { a: { properties: { b: { const: true } }, required: ["b"] } },
    additionalProperties: false,
  },
  "if, then and else": {
    type: "object",
    properties: {
      kind: { enum: ["circle", "square"] },
      radius: { type: "integer" },
      side: { type: "integer" },
    },
    required: ["kind"],
    if: { properties: { kind: { const: "circle" } }, required: ["kind"] },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: { required: ["radius"] },
    else: { required: ["side"] },
    additionalProperties: false,
  },
  "one of two that overlap": {
    oneOf: [
      { type: "integer", minimum: 0, maximum: 10 },
      { type: "integer", minimum: 5, maximum: 20 },
    ],
  },
  "contains an item": {
    type: "array",
    items: { type: "integer", maximum: 9 },
    contains: { minimum: 5 },
    maxItems: 4,
  },
  "unique listed items": { type: "array", items: { enum: ["a", "b", "c"] }, uniqueItems: true, minItems: 1 },
  "unevaluated members of allOf": {
    type: "object",
    allOf: [
      { properties: { a: { type: "integer" } } },
      { properties: { b: { type: "null" } }, required: ["b"] },
    ],
    unevaluatedProperties: false,
  },
};
