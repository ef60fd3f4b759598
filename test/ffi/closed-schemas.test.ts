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

interface Case {
  readonly name: string;
  readonly schema: Schema;
  /** Values that the grammar takes, and those that it refuses although the schema allows them, in this spelling. */
  readonly takes: readonly unknown[];
  readonly refuses: readonly unknown[];
}

const CASES: readonly Case[] = [
  {
    name: "an object as pydantic writes it",
    schema: { ...A, title: "T" },
    takes: [{ a: 1 }],
    refuses: [{ a: 1, x: 1 }],
  },
  {
    name: "an opened object",
    schema: { ...A, additionalProperties: true },
    takes: [{ a: 1 }, { a: 1, x: 1 }],
    refuses: [],
  },
  {
    name: "a dictionary",
    schema: { type: "object", additionalProperties: INT },
    takes: [{ x: 1, y: 2 }],
    refuses: [],
  },
  { name: "an object that declares nothing", schema: { type: "object" }, takes: [{}, { x: 1 }], refuses: [] },
  {
    name: "an object with an empty list of members",
    schema: { type: "object", properties: {} },
    takes: [{}, { x: "y" }],
    refuses: [],
  },
  {
    name: "an object within others",
    schema: { type: "object", properties: { list: { type: "array", items: A } }, required: ["list"] },
    takes: [{ list: [{ a: 1 }] }],
    refuses: [{ list: [{ a: 1, x: 1 }] }, { list: [], x: 1 }],
  },
  {
    name: "a definition",
    schema: {
      $ref: "#/$defs/Tree",
      $defs: {
        Tree: { type: "object", properties: { a: INT, next: { $ref: "#/$defs/Tree" } }, required: ["a"] },
      },
    },
    takes: [{ a: 1 }, { a: 1, next: { a: 2 } }],
    refuses: [
      { a: 1, x: 1 },
      { a: 1, next: { a: 2, x: 1 } },
    ],
  },
  {
    name: "a reference with a description, as pydantic writes a member",
    schema: {
      type: "object",
      properties: {
        one: { $ref: "#/$defs/A", description: "One." },
        two: { allOf: [{ $ref: "#/$defs/A" }], default: null },
      },
      required: ["one"],
      $defs: { A },
    },
    takes: [{ one: { a: 1 } }, { one: { a: 1 }, two: { a: 1 } }],
    refuses: [{ one: { a: 1, x: 1 } }, { one: { a: 1 }, two: { a: 1, x: 1 } }],
  },
  {
    name: "two objects in one",
    schema: { allOf: [A, B] },
    takes: [{ a: 1, b: 2 }],
    refuses: [{ a: 1, b: 2, x: 3 }],
  },
  {
    name: "a definition that is extended in one place and used in another",
    schema: {
      type: "object",
      properties: { base: { $ref: "#/$defs/A" }, more: { allOf: [{ $ref: "#/$defs/A" }, B] } },
      required: ["base", "more"],
      $defs: { A },
    },
    takes: [{ base: { a: 1 }, more: { a: 1, b: 2 } }],
    refuses: [
      { base: { a: 1, b: 2 }, more: { a: 1, b: 2 } },
      { base: { a: 1 }, more: { a: 1, b: 2, x: 1 } },
    ],
  },
  {
    name: "a definition with members beside it",
    schema: { $ref: "#/$defs/A", properties: { b: INT }, $defs: { A } },
    takes: [{ a: 1 }, { b: 2, a: 1 }],
    refuses: [{ b: 2, a: 1, x: 1 }],
  },
  {
    name: "alternatives with members beside them",
    schema: { type: "object", properties: { id: INT }, required: ["id"], anyOf: [A, B] },
    takes: [
      { id: 1, a: 2 },
      { id: 1, b: 2 },
    ],
    refuses: [{ id: 1, a: 2, x: 3 }],
  },
  {
    name: "alternatives told apart by a member",
    schema: { oneOf: [KIND("a", { a: INT }), KIND("b", { b: INT })] },
    takes: [
      { kind: "a", a: 1 },
      { kind: "b", b: 1 },
    ],
    refuses: [
      { kind: "a", a: 1, b: 1 },
      { kind: "b", b: 1, x: 1 },
    ],
  },
  {
    name: "definitions told apart by a member",
    schema: {
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
    takes: [{ pet: { kind: "cat", a: 1 } }, { pet: { kind: "dog", b: 1 } }],
    refuses: [{ pet: { kind: "cat", a: 1, x: 1 } }, { pet: { kind: "dog", b: 1 }, x: 1 }],
  },
  {
    name: "alternatives that only require",
    schema: {
      type: "object",
      properties: { a: INT, b: INT },
      anyOf: [{ required: ["a"] }, { required: ["b"] }],
    },
    takes: [{ a: 1 }, { b: 1 }, { a: 1, b: 1 }],
    refuses: [{ a: 1, x: 1 }],
  },
  {
    name: "a member that is required but not described",
    schema: { type: "object", properties: { a: INT }, required: ["a", "z"] },
    takes: [{ a: 1, z: 5 }],
    refuses: [{ a: 1, z: 5, x: 1 }],
  },
  {
    name: "a member that another one requires",
    schema: { type: "object", properties: { a: INT }, dependentRequired: { a: ["z"] } },
    takes: [{}, { a: 1, z: 5 }],
    refuses: [{ x: 1 }],
  },
  {
    name: "a condition",
    schema: {
      type: "object",
      properties: { kind: { enum: ["a", "b"] } },
      required: ["kind"],
      if: { properties: { kind: { const: "a" } } },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { properties: { a: INT }, required: ["a"] },
      else: { properties: { b: INT }, required: ["b"] },
    },
    takes: [
      { kind: "a", a: 1 },
      { kind: "b", b: 1 },
    ],
    refuses: [{ kind: "a", a: 1, x: 1 }],
  },
  {
    name: "members by pattern",
    schema: { type: "object", properties: { a: INT }, required: ["a"], patternProperties: { "^x_": INT } },
    takes: [{ a: 1 }, { a: 1, x_1: 2 }],
    refuses: [{ a: 1, y: 2 }],
  },
  {
    name: "members by pattern alone",
    schema: { type: "object", patternProperties: { "^x_": INT } },
    takes: [{}, { x_1: 2 }],
    refuses: [{ y: 2 }],
  },
  {
    name: "a part that says what others may be",
    schema: { allOf: [A, { type: "object", properties: { b: INT }, additionalProperties: INT }] },
    takes: [{ a: 1 }, { a: 1, b: 2 }, { a: 1, x: 2 }],
    refuses: [],
  },
  {
    name: "unevaluated members that are ruled out",
    schema: { $ref: "#/$defs/A", properties: { b: INT }, unevaluatedProperties: false, $defs: { A } },
    takes: [{ a: 1 }, { b: 2, a: 1 }],
    refuses: [],
  },
  {
    name: "unevaluated members that are allowed",
    schema: { ...A, unevaluatedProperties: true },
    takes: [{ a: 1, x: 1 }],
    refuses: [],
  },
  {
    name: "more members than are declared",
    schema: { type: "object", properties: { a: INT }, required: ["a"], minProperties: 2 },
    takes: [{ a: 1, x: 1 }],
    refuses: [],
  },
  {
    name: "an object or nothing",
    schema: { anyOf: [A, { type: "null" }, { type: "string", maxLength: 3 }] },
    takes: [{ a: 1 }, null, "abc"],
    refuses: [{ a: 1, x: 1 }],
  },
  {
    name: "closed alternatives of which one has all members of another",
    schema: {
      oneOf: [
        { ...A, ...CLOSED },
        { ...AB, ...CLOSED },
      ],
    },
    takes: [{ a: 1 }, { a: 1, b: 2 }],
    refuses: [],
  },
  {
    name: "the same, closed by unevaluated members",
    schema: {
      oneOf: [
        { ...A, unevaluatedProperties: false },
        { ...AB, unevaluatedProperties: false },
      ],
    },
    takes: [{ a: 1 }, { a: 1, b: 2 }],
    refuses: [],
  },
  {
    name: "closed alternatives within a member",
    schema: {
      oneOf: [A, AB].map((part) => ({
        type: "object",
        properties: { p: { ...part, ...CLOSED } },
        required: ["p"],
        ...CLOSED,
      })),
    },
    takes: [{ p: { a: 1 } }, { p: { a: 1, b: 2 } }],
    refuses: [],
  },
  {
    name: "closed alternatives without a required member",
    schema: { oneOf: [A, B].map(({ properties }) => ({ type: "object", properties, ...CLOSED })) },
    takes: [{ a: 1 }, { b: 1 }],
    refuses: [],
  },
  {
    name: "a condition on a closed object",
    schema: {
      type: "object",
      properties: { a: INT, b: INT, c: INT },
      required: ["a"],
      if: { properties: { a: { const: 1 } }, ...CLOSED },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { properties: { a: { maximum: 5 } } },
      else: { required: ["b"] },
    },
    takes: [{ a: 1 }, { a: 1, b: 2 }, { a: 2, b: 2 }, { a: 1, b: 2, c: 3 }],
    refuses: [],
  },
  {
    name: "what is no closed object",
    schema: { ...A, properties: { a: INT, b: INT }, not: { properties: { a: INT }, ...CLOSED } },
    takes: [{ a: 1, b: 2 }],
    refuses: [],
  },
  {
    name: "a type list",
    schema: { type: ["object", "null"], properties: { a: INT } },
    takes: [{}, { a: 1 }, null],
    refuses: [{ x: 1 }],
  },
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
  for (const { name, schema, takes, refuses } of CASES) {
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
    for (const { name, schema } of CASES) {
      const isValid = validator(name, schema);
      for (let seed = 0; seed < 5; seed++) {
        const matcher = compile(engine, { type: "json_schema", schema, strict: false });
        const { text } = walk(matcher, vocabulary, randomBelow(seed));
        expect([text, isValid(JSON.parse(text))]).toEqual([text, ""]);
      }
    }
  });
});
