// Schemas whose grammars a request does not wait for: they must compile and leave nothing out, in JSON and in text.

import { afterAll, describe, expect, test } from "bun:test";
import { isCertain } from "../../src/grammar/certain-schemas.ts";
import { GrammarEngine } from "../../ffi/llama/grammar.ts";
import type { AnswerConstraint, AnswerPart } from "../../src/worker/text/constraint-backend.ts";
import { compile, grammarNative, tinyVocabulary } from "../helpers/grammar.ts";

type Schema = Readonly<Record<string, unknown>>;

const engine = new GrammarEngine(grammarNative(), tinyVocabulary());
afterAll(() => engine.close());

/** Calls that are one of these values, or texts up to a tag. */
function constraintOf(schemas: readonly Schema[], text?: AnswerPart["text"]): AnswerConstraint {
  const shape = text === undefined ? {} : { text };
  const parts = schemas.map((_, source) => ({ rule: `r${source}`, source, pointers: [""], ...shape }));
  return {
    type: "answer",
    grammar: `start: ${parts.map(({ rule }) => `"call ${rule}:" ${rule}`).join(" | ")}\n`,
    parts,
    sources: schemas.map((schema, i) => ({ schema, strict: i % 2 === 0, at: `tools.t${i}` })),
    prefix: "",
    unenforced: [],
    tags: text === undefined ? [] : [text.end],
  };
}

const TEXT = { avoid: [], end: "</arg>", except: "[ \\t\\n]*(?:true|false)[ \\t\\n]*" };

/** Numbers in [0, max), the same each time. */
function numbers(seed: number): (max: number) => number {
  let state = seed;
  return (max) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor(((state >>> 8) / 2 ** 24) * max);
  };
}

function randomSchema(next: (max: number) => number, depth: number): Schema {
  const inner = (): Schema => randomSchema(next, depth + 1);
  const notes =
    next(2) === 0
      ? {}
      : {
          title: "A title",
          description: "What it is",
          default: [1],
          examples: [null],
          $comment: "not for models",
          deprecated: true,
        };
  const low = next(2000) - 1000;
  const kinds: readonly (() => Schema)[] = [
    () => ({ type: "string" }),
    () => ({ type: ["boolean", "null"][next(2)] }),
    () => ({ type: "integer", minimum: low, maximum: low + next(50) }),
    () => ({ type: "number", minimum: low }),
    () => ({ type: "number", maximum: low }),
    () => ({ type: ["string", "null"] }),
    () => ({ type: ["integer", "boolean", "number"] }),
    () => ({ enum: ["a", "b c", 'quo"ted', "back\\slash", "ü", "a"].slice(0, 1 + next(6)) }),
    () => ({ type: "string", enum: ["one", "two"] }),
    () => ({ type: "array" }),
    () => ({ type: "array", items: inner() }),
    () => ({ anyOf: [inner(), { type: "null" }] }),
    () => randomObject(next, depth + 1),
  ];
  return { ...kinds[next(depth > 2 ? 9 : kinds.length)]?.(), ...notes };
}

function randomObject(next: (max: number) => number, depth: number): Schema {
  const names = ["path", "a_b", "x.y", "n-1", "Z9"].slice(0, next(6));
  const properties = Object.fromEntries(names.map((name) => [name, randomSchema(next, depth)]));
  const open = [{}, { additionalProperties: false }, { additionalProperties: true }][next(3)];
  const required = names.filter(() => next(2) === 0);
  return { type: "object", properties, ...(next(4) === 0 ? {} : { required }), ...open };
}

describe("a certain schema compiles and leaves nothing out", () => {
  test("as JSON", () => {
    const next = numbers(7);
    for (let round = 0; round < 12; round++) {
      const constraint = constraintOf(Array.from({ length: 25 }, () => randomObject(next, 0)));
      expect(isCertain(constraint)).toBe(true);
      const matcher = compile(engine, constraint);
      expect(matcher.unenforced).toEqual([]);
      matcher.free();
    }
  });

  test("as text", () => {
    const constraint = constraintOf([{ type: "string" }, { type: ["string", "null"] }], TEXT);
    expect(isCertain(constraint)).toBe(true);
    const matcher = compile(engine, constraint);
    expect(matcher.unenforced).toEqual([]);
    matcher.free();
  });
});

test.each<[Schema]>([
  [{ type: "strange" }],
  [{ type: "string", pattern: "a" }],
  [{ type: "string", maxLength: 5 }],
  [{ enum: [] }],
  [{ enum: ["a", 1] }],
  [{ enum: ["a\nb"] }],
  [{ type: "integer", enum: ["a"] }],
  [{ type: "integer", minimum: 5, maximum: 4 }],
  [{ type: "integer", minimum: 0.5 }],
  [{ type: "integer", minimum: 1e300 }],
  [{ type: ["string", "object"] }],
  [{ type: "array", uniqueItems: true }],
  [{ type: "array", items: false }],
  [{ type: "object", required: ["missing"] }],
  [{ type: "object", properties: { a: {} }, required: ["a"] }],
  [{ type: "object", properties: { "a\u0001": { type: "string" } } }],
  [{ type: "object", additionalProperties: { type: "string" } }],
  [{ $ref: "#/$defs/a", $defs: { a: { type: "string" } } }],
  [{ anyOf: [{ type: "string" }], type: "string" }],
])("%j is not certain", (schema) => {
  const whole = { type: "object", properties: { odd: schema } };
  expect(isCertain(constraintOf([{ type: "object" }, whole]))).toBe(false);
});

test("values that texts list, and lists of tools near the limits of a grammar, are not certain", () => {
  expect(isCertain(constraintOf([{ type: "string", enum: ["</arg>"] }], TEXT))).toBe(false);
  const tool = { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } };
  expect(isCertain(constraintOf(Array.from({ length: 1000 }, () => tool)))).toBe(true);
  expect(isCertain(constraintOf(Array.from({ length: 4000 }, () => tool)))).toBe(false);
  const long = { enum: Array.from({ length: 1000 }, (_, i) => `${"x".repeat(190)}${i}`) };
  expect(isCertain(constraintOf([long]))).toBe(false);
});
