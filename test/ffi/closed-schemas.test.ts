// Objects that declare members are closed, compositions as a whole; nothing that can be met becomes impossible.

import { afterAll, describe, expect, test } from "bun:test";
import { validator } from "../helpers/ajv.ts";
import { compile, feedText, grammarEngine, randomBelow, tinyVocabulary, walk } from "../helpers/grammar.ts";

const vocabulary = tinyVocabulary();
const engine = grammarEngine(vocabulary);
afterAll(() => engine.close());

type Schema = Readonly<Record<string, unknown>>;

const INT = { type: "integer" };
const A = { type: "object", properties: { a: INT }, required: ["a"] };
const B = { type: "object", properties: { b: INT }, required: ["b"] };
const AB = { type: "object", properties: { a: INT, b: INT }, required: ["a", "b"] };
const CLOSED = { additionalProperties: false };
const KIND = (kind: string, more: Schema) => ({
  type: "object",
  properties: { kind: { const: kind }, ...more },
  required: ["kind", ...Object.keys(more)],
});

/** Name, schema, values that the grammar takes, and those that it refuses although the schema allows them, in this spelling. */
type Case = readonly [string, Schema, takes: readonly unknown[], refuses?: readonly unknown[]];

const CASES: readonly Case[] = [
  ["an object as pydantic writes it", { ...A, title: "T" }, [{ a: 1 }], [{ a: 1, x: 1 }]],
  ["an opened object", { ...A, additionalProperties: true }, [{ a: 1 }, { a: 1, x: 1 }]],
  ["a dictionary", { type: "object", additionalProperties: INT }, [{ x: 1, y: 2 }]],
  ["an object that declares nothing", { type: "object" }, [{}, { x: 1 }]],
  ["an object with an empty list of members", { type: "object", properties: {} }, [{}, { x: "y" }]],
  [
    "an object within others",
    { type: "object", properties: { list: { type: "array", items: A } }, required: ["list"] },
    [{ list: [{ a: 1 }] }],
    [{ list: [{ a: 1, x: 1 }] }, { list: [], x: 1 }],
  ],
  [
    "a definition",
    {
      $ref: "#/$defs/Tree",
      $defs: {
        Tree: { type: "object", properties: { a: INT, next: { $ref: "#/$defs/Tree" } }, required: ["a"] },
      },
    },
    [{ a: 1 }, { a: 1, next: { a: 2 } }],
    [
      { a: 1, x: 1 },
      { a: 1, next: { a: 2, x: 1 } },
    ],
  ],
  [
    "a reference with a description, as pydantic writes a member",
    {
      type: "object",
      properties: {
        one: { $ref: "#/$defs/A", description: "One." },
        two: { allOf: [{ $ref: "#/$defs/A" }], default: null },
      },
      required: ["one"],
      $defs: { A },
    },
    [{ one: { a: 1 } }, { one: { a: 1 }, two: { a: 1 } }],
    [{ one: { a: 1, x: 1 } }, { one: { a: 1 }, two: { a: 1, x: 1 } }],
  ],
  ["two objects in one", { allOf: [A, B] }, [{ a: 1, b: 2 }], [{ a: 1, b: 2, x: 3 }]],
  [
    "a definition that is extended in one place and used in another",
    {
      type: "object",
      properties: { base: { $ref: "#/$defs/A" }, more: { allOf: [{ $ref: "#/$defs/A" }, B] } },
      required: ["base", "more"],
      $defs: { A },
    },
    [{ base: { a: 1 }, more: { a: 1, b: 2 } }],
    [
      { base: { a: 1, b: 2 }, more: { a: 1, b: 2 } },
      { base: { a: 1 }, more: { a: 1, b: 2, x: 1 } },
    ],
  ],
  [
    "a definition with members beside it",
    { $ref: "#/$defs/A", properties: { b: INT }, $defs: { A } },
    [{ a: 1 }, { b: 2, a: 1 }],
    [{ b: 2, a: 1, x: 1 }],
  ],
  [
    "alternatives with members beside them",
    { type: "object", properties: { id: INT }, required: ["id"], anyOf: [A, B] },
    [
      { id: 1, a: 2 },
      { id: 1, b: 2 },
    ],
    [{ id: 1, a: 2, x: 3 }],
  ],
  [
    "alternatives told apart by a member",
    { oneOf: [KIND("a", { a: INT }), KIND("b", { b: INT })] },
    [
      { kind: "a", a: 1 },
      { kind: "b", b: 1 },
    ],
    [
      { kind: "a", a: 1, b: 1 },
      { kind: "b", b: 1, x: 1 },
    ],
  ],
  [
    "definitions told apart by a member",
    {
      type: "object",
      properties: {
        pet: {
          oneOf: [{ $ref: "#/$defs/Cat" }, { $ref: "#/$defs/Dog" }],
          discriminator: { propertyName: "kind" },
        },
      },
      required: ["pet"],
      $defs: { Cat: KIND("cat", { a: INT }), Dog: KIND("dog", { b: INT }) },
    },
    [{ pet: { kind: "cat", a: 1 } }, { pet: { kind: "dog", b: 1 } }],
    [{ pet: { kind: "cat", a: 1, x: 1 } }, { pet: { kind: "dog", b: 1 }, x: 1 }],
  ],
  [
    "alternatives that only require",
    {
      type: "object",
      properties: { a: INT, b: INT },
      anyOf: [{ required: ["a"] }, { required: ["b"] }],
    },
    [{ a: 1 }, { b: 1 }, { a: 1, b: 1 }],
    [{ a: 1, x: 1 }],
  ],
  [
    "a member that is required but not described",
    { type: "object", properties: { a: INT }, required: ["a", "z"] },
    [{ a: 1, z: 5 }],
    [{ a: 1, z: 5, x: 1 }],
  ],
  [
    "a member that another one requires",
    { type: "object", properties: { a: INT }, dependentRequired: { a: ["z"] } },
    [{}, { a: 1, z: 5 }],
    [{ x: 1 }],
  ],
  [
    "a condition",
    {
      type: "object",
      properties: { kind: { enum: ["a", "b"] } },
      required: ["kind"],
      if: { properties: { kind: { const: "a" } } },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { properties: { a: INT }, required: ["a"] },
      else: { properties: { b: INT }, required: ["b"] },
    },
    [
      { kind: "a", a: 1 },
      { kind: "b", b: 1 },
    ],
    [{ kind: "a", a: 1, x: 1 }],
  ],
  [
    "members by pattern",
    { type: "object", properties: { a: INT }, required: ["a"], patternProperties: { "^x_": INT } },
    [{ a: 1 }, { a: 1, x_1: 2 }],
    [{ a: 1, y: 2 }],
  ],
  [
    "members by pattern alone",
    { type: "object", patternProperties: { "^x_": INT } },
    [{}, { x_1: 2 }],
    [{ y: 2 }],
  ],
  [
    "a part that says what others may be",
    { allOf: [A, { type: "object", properties: { b: INT }, additionalProperties: INT }] },
    [{ a: 1 }, { a: 1, b: 2 }, { a: 1, x: 2 }],
  ],
  [
    "unevaluated members that are ruled out",
    { $ref: "#/$defs/A", properties: { b: INT }, unevaluatedProperties: false, $defs: { A } },
    [{ a: 1 }, { b: 2, a: 1 }],
  ],
  ["unevaluated members that are allowed", { ...A, unevaluatedProperties: true }, [{ a: 1, x: 1 }]],
  [
    "more members than are declared",
    { type: "object", properties: { a: INT }, required: ["a"], minProperties: 2 },
    [{ a: 1, x: 1 }],
  ],
  [
    "an object or nothing",
    { anyOf: [A, { type: "null" }, { type: "string", maxLength: 3 }] },
    [{ a: 1 }, null, "abc"],
    [{ a: 1, x: 1 }],
  ],
  [
    "closed alternatives of which one has all members of another",
    {
      oneOf: [
        { ...A, ...CLOSED },
        { ...AB, ...CLOSED },
      ],
    },
    [{ a: 1 }, { a: 1, b: 2 }],
  ],
  [
    "the same, closed by unevaluated members",
    {
      oneOf: [
        { ...A, unevaluatedProperties: false },
        { ...AB, unevaluatedProperties: false },
      ],
    },
    [{ a: 1 }, { a: 1, b: 2 }],
  ],
  [
    "closed alternatives within a member",
    {
      oneOf: [A, AB].map((part) => ({
        type: "object",
        properties: { p: { ...part, ...CLOSED } },
        required: ["p"],
        ...CLOSED,
      })),
    },
    [{ p: { a: 1 } }, { p: { a: 1, b: 2 } }],
  ],
  [
    "closed alternatives without a required member",
    { oneOf: [A, B].map(({ properties }) => ({ type: "object", properties, ...CLOSED })) },
    [{ a: 1 }, { b: 1 }],
  ],
  [
    "a condition on a closed object",
    {
      type: "object",
      properties: { a: INT, b: INT, c: INT },
      required: ["a"],
      if: { properties: { a: { const: 1 } }, ...CLOSED },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { properties: { a: { maximum: 5 } } },
      else: { required: ["b"] },
    },
    [{ a: 1 }, { a: 1, b: 2 }, { a: 2, b: 2 }, { a: 1, b: 2, c: 3 }],
  ],
  [
    "what is no closed object",
    { ...A, properties: { a: INT, b: INT }, not: { properties: { a: INT }, ...CLOSED } },
    [{ a: 1, b: 2 }],
  ],
  ["a type list", { type: ["object", "null"], properties: { a: INT } }, [{}, { a: 1 }, null], [{ x: 1 }]],
];

/** Whether the grammar takes the value as its whole answer. */
function isTaken(schema: Schema, value: unknown, strict: boolean): boolean {
  const matcher = compile(engine, { type: "json_schema", schema, strict });
  const fed = feedText(matcher, vocabulary, JSON.stringify(value));
  const taken = fed !== "rejected" && (fed === "finished" || matcher.mayEnd());
  matcher.free();
  return taken;
}

describe("a schema of an answer closes", () => {
  for (const [name, schema, takes, refuses = []] of CASES) {
    test(name, () => {
      const isValid = validator(name, schema);
      for (const value of [...takes, ...refuses]) expect([value, isValid(value)]).toEqual([value, ""]);
      for (const strict of [true, false]) {
        expect(takes.filter((value) => !isTaken(schema, value, strict))).toEqual([]);
        expect(refuses.filter((value) => isTaken(schema, value, strict))).toEqual([]);
      }
    });
  }

  test("without the values of two alternatives, which are open as they were sent", () => {
    for (const closed of [{}, CLOSED]) {
      const schema = { oneOf: [A, { ...AB, ...closed }] };
      expect(validator("", schema)({ a: 1, b: 2 })).not.toBe("");
      for (const strict of [true, false]) {
        expect(isTaken(schema, { a: 1 }, strict)).toBe(true);
        expect(isTaken(schema, { a: 1, b: 2 }, strict)).toBe(false);
      }
    }
  });

  test("with all values of a dictionary beside a closed object", () => {
    const schema = {
      oneOf: [
        { type: "object", properties: { a: INT }, ...CLOSED },
        { type: "object", additionalProperties: INT },
      ],
    };
    expect(isTaken(schema, { x: 1 }, false)).toBe(true);
  });

  test("and what is drawn from it is valid against it as it was sent", () => {
    for (const [name, schema] of CASES) {
      const isValid = validator(name, schema);
      const matcher = compile(engine, { type: "json_schema", schema, strict: false });
      for (let seed = 0; seed < 5; seed++) {
        const { text } = walk(matcher.clone(), vocabulary, randomBelow(seed));
        expect([text, isValid(JSON.parse(text))]).toEqual([text, ""]);
      }
      matcher.free();
    }
  });
});
