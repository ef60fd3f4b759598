// JSON schemas that no grammar can enforce. None of them may be accepted with part of it ignored.

/** Name → a schema that cannot be enforced, and what the refusal must name. */
export const REFUSED_SCHEMAS: Readonly<Record<string, readonly [schema: unknown, reason: string]>> = {
  not: [{ type: "integer", not: { multipleOf: 3 } }, "`not`"],
  "not in a corner": [
    { type: "object", properties: { a: { items: { not: { pattern: "a" } } } } },
    "/properties/a/items",
  ],
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  "if and then": [{ if: { format: "date" }, then: { minLength: 3 } }, "`if`"],
  uniqueItems: [{ type: "array", items: { type: "integer" }, uniqueItems: true }, "`uniqueItems`"],
  "contains at most": [{ type: "array", contains: { const: 1 }, maxContains: 2 }, "`contains`"],
  "contains beside other types": [{ contains: { const: 1 } }, "`contains`"],
  "unevaluatedProperties beside alternatives": [
    { type: "object", anyOf: [{ required: ["a"] }, {}], unevaluatedProperties: false },
    "`unevaluatedProperties`",
  ],
  "propertyNames beside properties": [
    { properties: { a: true }, propertyNames: { pattern: "^a" } },
    "`propertyNames`",
  ],
  "propertyNames with a length": [{ propertyNames: { maxLength: 3 } }, "`propertyNames`"],
  dynamicRef: [{ $dynamicRef: "#node" }, "`$dynamicRef`"],
  "oneOf that overlaps": [{ oneOf: [{ type: "integer" }, { type: "number" }] }, "oneOf"],
  "pattern with a look-ahead": [{ type: "string", pattern: "^(?!a)" }, "looks ahead"],
  "pattern with a look-behind": [{ type: "string", pattern: "(?<=a)b" }, "looks ahead or behind"],
  "pattern with a backreference": [{ type: "string", pattern: "^(a|b)\\1$" }, "refers back"],
  "pattern with a word boundary": [{ type: "string", pattern: "\\bword\\b" }, "word boundaries"],
  "pattern that does not parse": [{ type: "string", pattern: "^(a$" }, "regex"],
  "overlapping pattern properties": [
    { patternProperties: { "^a": { type: "integer" }, b$: { type: "string" } } },
    "disjoint",
  ],
  "pattern whose only name is declared": [
    { type: "object", properties: { c: {} }, patternProperties: { "^c$": { type: "integer" } } },
    "leaves no name",
  ],
  "unknown format": [{ type: "string", format: "isbn" }, '"isbn"'],
  "unknown format of a number": [{ type: "integer", format: "roman" }, '"roman"'],
  "unknown type": [{ type: "float" }, "`type`"],
  "two free members at least": [{ type: "object", minProperties: 2 }, "`minProperties`"],
  "counted optional members": [
    { properties: { a: true, b: true, c: true }, minProperties: 2, additionalProperties: false },
    "min/maxProperties",
  ],
  "reference into the world": [{ $ref: "https://example.org/schema.json" }, "leads out"],
  "reference to nowhere": [{ $ref: "#/$defs/missing" }, "finds nothing"],
  "reference that goes in circles": [
    { $defs: { a: { $ref: "#/$defs/a", minimum: 1 } }, $ref: "#/$defs/a" },
    "ircular",
  ],
  "bounds that exclude each other": [{ type: "integer", minimum: 3, maximum: 2 }, "nsatisfiable"],
  "bounds beyond a double": [{ type: "integer", maximum: 1e20 }, "`maximum`"],
  "literal beyond a double": [{ const: 1e300 }, "`const`"],
  "literal with a control character": [{ enum: ["a\u0001"] }, "`enum`"],
  false: [false, "false"],
  "false where it is required": [
    { type: "object", properties: { a: false }, required: ["a"] },
    "nsatisfiable",
  ],
  "empty enum": [{ enum: [] }, "`enum`"],
  "multipleOf 0": [{ multipleOf: 0 }, "`multipleOf`"],
  "not a schema": [7, "an object or a boolean"],
  "not a schema inside": [{ properties: { a: 7 } }, "/properties/a"],
  "its own switch to leniency": [{ "x-guidance": { lenient: true }, not: {} }, "cannot be enforced"],
};
