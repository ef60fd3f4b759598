// What a request may send to do harm: it ends in an error, soon, and nobody else notices.

import { afterAll, describe, expect, test } from "bun:test";
import type { Constraint } from "../../src/core/constraint.ts";
import { ServiceError } from "../../src/core/error.ts";
import type { Matcher } from "../../src/worker/text/constraint-backend.ts";
import { compile, feedText, grammarEngine, refusal, tinyVocabulary } from "../helpers/grammar.ts";

const vocabulary = tinyVocabulary();
const engine = grammarEngine(vocabulary);
afterAll(() => engine.close());

const feed = (matcher: Matcher, text: string): string => feedText(matcher, vocabulary, text);

describe("hostile grammars fail quickly", () => {
  const range = (n: number): readonly number[] => Array.from({ length: n }, (_, i) => i);
  const nest = (depth: number): unknown => (depth === 0 ? {} : { items: nest(depth - 1) });
  const chain = (n: number): string =>
    `start: a0\n${range(n)
      .map((i) => `a${i}: a${i + 1} "x"`)
      .join("\n")}\na${n}: "y"`;
  const cases: Readonly<Record<string, Constraint>> = {
    "deep schema": { type: "json_schema", schema: nest(500) },
    "alternatives that multiply": {
      type: "json_schema",
      schema: { allOf: range(20).map((i) => ({ anyOf: [{ minLength: i }, { maxLength: 99 - i }] })) },
    },
    "references that double": {
      type: "json_schema",
      schema: {
        $defs: Object.fromEntries(
          range(60).map((i) => [`d${i}`, { allOf: range(2).map(() => ({ $ref: `#/$defs/d${i + 1}` })) }]),
        ),
        allOf: [{ $ref: "#/$defs/d0" }, { $ref: "#/$defs/d0" }],
      },
    },
    "too many parts": {
      type: "json_schema",
      schema: { properties: Object.fromEntries(range(6000).map((i) => [`p${i}`, {}])) },
    },
    "too many patterns": {
      type: "json_schema",
      schema: { patternProperties: Object.fromEntries(range(500).map((i) => [`^p${i}$`, {}])) },
    },
    "a pattern of many states": {
      type: "json_schema",
      schema: { type: "string", pattern: "^(.*a){40}.*$", minLength: 1000, maxLength: 100_000 },
    },
    "a huge divisor": { type: "json_schema", schema: { type: "integer", multipleOf: 999_999_937 } },
    "a long text": { type: "regex", pattern: "a".repeat(300_000) },
    "nested groups": { type: "regex", pattern: `${"(".repeat(100_000)}a${")".repeat(100_000)}` },
    "a long Lark grammar": { type: "lark", grammar: chain(20_000) },
    "nested Lark groups": { type: "lark", grammar: `start: ${"(".repeat(190)}"a"${")*".repeat(190)}` },
    "rules without an end": { type: "lark", grammar: "start: start" },
    "grammars that only name each other": {
      type: "grammars",
      grammars: [
        { name: "a", larkGrammar: "start: @b" },
        { name: "b", larkGrammar: "start: @a" },
      ],
    },
  };
  for (const [name, constraint] of Object.entries(cases)) {
    test(name, () => {
      expect(refusal(() => compile(engine, constraint)).message).not.toBe("");
    });
  }

  test("an exponential expression has a bounded cost", () => {
    const matcher = compile(engine, { type: "regex", pattern: "(.*[01]){20}(x+x+)+y" });
    feed(matcher, `${"0".repeat(50)}${"x".repeat(200)}z`);
    matcher.computeMask();
    expect(matcher.mayEnd()).toBe(false);
    matcher.free();
  });

  test("a grammar that reaches a limit during decode fails its own answer only", () => {
    const node = {
      anyOf: range(1000).map((i) => ({
        properties: { a: { $ref: "#/$defs/node" }, [`b${i}`]: {} },
        type: "object",
      })),
    };
    const ambiguous: Constraint = { type: "json_schema", schema: { $defs: { node }, $ref: "#/$defs/node" } };
    const matcher = compile(engine, ambiguous);
    const other = compile(engine, { type: "regex", pattern: "fine" });
    let failed: readonly Matcher[] = [];
    try {
      for (let i = 0; i < 100 && failed.length === 0; i++) {
        feed(matcher, i % 2 === 0 ? "{" : '"a":');
        engine.masksBegin([other, matcher]);
        failed = engine.masksWait();
      }
      expect(failed).toEqual([matcher]);
    } catch (error) {
      expect(error).toBeInstanceOf(ServiceError);
    }
    expect(() => matcher.mayEnd()).toThrow(ServiceError);
    expect(() => matcher.accept(-1)).toThrow(ServiceError);
    expect(feed(other, "fine")).toBe("finished");
    matcher.free();
    other.free();
    compile(engine, ambiguous).free(); // compiled anew: the other one spoiled its lexer
  });
});
