// Constrained decoding on the built-in model's vocabulary: whatever the masks allow is valid, whatever cannot be
// enforced is refused, and nothing hostile gets further than an error.

import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { NATIVE } from "../../ffi/embedded.ts";
import { abiHash } from "../../ffi/generate.ts";
import { ABI_HASH } from "../../ffi/llama/grammar-symbols.ts";
import { nativeText } from "../../ffi/text.ts";
import type { Constraint } from "../../src/core/constraint.ts";
import type { Matcher } from "../../src/worker/text/constraint-backend.ts";
import { validator } from "../helpers/ajv.ts";
import {
  allowedTokens,
  compile,
  feedText,
  grammarEngine,
  grammarNative,
  randomBelow,
  refusal,
  tinyVocabulary,
  walk,
} from "../helpers/grammar.ts";
import { REFUSED_SCHEMAS } from "../helpers/refused-schemas.ts";
import { SCHEMAS } from "../helpers/schemas.ts";

const vocabulary = tinyVocabulary();
const engine = grammarEngine(vocabulary);
afterAll(() => engine.close());

const OBJECT: Constraint = {
  type: "json_schema",
  schema: {
    type: "object",
    properties: { a: { type: "integer" } },
    required: ["a"],
    additionalProperties: false,
  },
};

function answers(constraint: Constraint, count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const { text, specialsInside } = walk(compile(engine, constraint), vocabulary, randomBelow(i));
    expect(specialsInside).toBe(0);
    return text;
  });
}

const isEnding = (token: number): boolean => ((vocabulary.flags[token] ?? 0) & 1) !== 0;
const ending = vocabulary.texts.findIndex((_, token) => isEnding(token));

const feed = (matcher: Matcher, text: string): string => feedText(matcher, vocabulary, text);

describe("the library", () => {
  const header = readFileSync(join(import.meta.dir, "../../ffi/constraint/svc_grammar.h"), "utf8");

  test("was built from this header", () => {
    expect(NATIVE.grammarAbi).toBe(abiHash(header));
    expect(nativeText(grammarNative().svc_grammar_abi_hash())).toBe(ABI_HASH);
  });

  test("turns a panic into an error", () => {
    const reasons = [0, 1, 2, 3].map((kind) => {
      expect(grammarNative().svc_grammar_selftest_panic(kind)).toBe(-1);
      return nativeText(grammarNative().svc_grammar_last_error());
    });
    expect(reasons.every((reason) => reason.startsWith("the grammar engine failed: "))).toBe(true);
    expect(reasons[0]).toContain("raised on purpose");
  });

  test("reports missing handles as errors", () => {
    const library = grammarNative();
    expect(library.svc_grammar_accept(null, 1)).toBe(-1);
    expect(nativeText(library.svc_grammar_last_error())).toBe("no matcher was given");
    expect(library.svc_grammar_clone(null)).toBeNull();
    expect(library.svc_grammar_compile_begin(null, null)).toBeNull();
    expect(library.svc_grammar_compile_wait(null, 0)).toBe(-1);
    expect(library.svc_grammar_masks_wait(null)).toBe(-1);
    library.svc_grammar_free(null);
    library.svc_grammar_close(null);
  });

  test("rejects an inconsistent vocabulary or one without an end token", () => {
    const open = (lengths: number[], flags: number[]): unknown =>
      grammarNative().svc_grammar_open(
        Buffer.from("ab"),
        2,
        Int32Array.from(lengths),
        Uint8Array.from(flags),
        2,
        1,
      );
    expect(open([1, 2], [0, 1])).toBeNull();
    expect(open([1, -1], [0, 1])).toBeNull();
    expect(open([1, 1], [0, 0])).toBeNull();
    expect(nativeText(grammarNative().svc_grammar_last_error())).toContain("no token that ends an answer");
  });
});

describe("every token sequence that a schema's masks allow is valid", () => {
  for (const [name, schema] of Object.entries(SCHEMAS)) {
    test(name, () => {
      const problems = validator(name, schema);
      for (const text of answers({ type: "json_schema", schema }, 5)) {
        expect(`${problems(JSON.parse(text))} ${text}`).toBe(` ${text}`);
      }
    });
  }
});

describe("unenforceable constraints are rejected with a reason", () => {
  for (const [name, [schema, reason]] of Object.entries(REFUSED_SCHEMAS)) {
    test(name, () => {
      const error = refusal(() => compile(engine, { type: "json_schema", schema }));
      expect(error.code).toBe("invalid_request");
      expect(error.param).toBe("response_format");
      expect(error.message).toStartWith("response_format cannot be enforced: ");
      expect(error.message).toContain(reason);
    });
  }
});

describe("generated JSON is parseable", () => {
  test("white space between tokens is bounded", () => {
    const matcher = compile(engine, OBJECT);
    expect(feed(matcher, "{\n")).toBe("ok");
    let blanks = 0;
    while (feed(matcher, " ") === "ok" && blanks < 1000) blanks++;
    expect(blanks).toBe(40);
    expect(feed(matcher, '"a": 1 }')).toBe("finished");
    matcher.free();
  });

  test("numbers are bounded before they lose digits or overflow", () => {
    for (const [text, next] of [
      ["123456789012345", "6"],
      ["1234567890.12345", "6"],
      ["1e99", "9"],
      ["-0.00000000000001", "1"],
    ] as const) {
      const matcher = compile(engine, { type: "json_schema", schema: { type: "number" } });
      feed(matcher, text);
      matcher.computeMask();
      const allowed = allowedTokens(matcher.mask.words).map((token) =>
        Buffer.from(vocabulary.texts[token] ?? []).toString(),
      );
      expect(allowed).not.toContain(next);
      expect(matcher.mayEnd()).toBe(true);
      matcher.free();
    }
  });

  test("a declared property name has one spelling", () => {
    const schema = { type: "object", properties: { a: { type: "integer" } }, additionalProperties: true };
    const matcher = compile(engine, { type: "json_schema", schema });
    expect(feed(matcher, '{"\\')).toBe("ok");
    expect(feed(matcher, "u")).toBe("rejected");
    matcher.free();
  });
});

describe("regular expressions", () => {
  const cases: readonly (readonly [pattern: string, outcome: RegExp])[] = [
    ["(yes|no)( sir)?", /^(yes|no)( sir)?$/],
    ["\\d{3}-[A-F]+x", /^[0-9]{3}-[A-F]+x$/],
    ["^anchored$", /^anchored$/],
    ["https?://[a-z]+/", /^https?:\/\/[a-z]+\/$/],
    ["[äöü]{2,4}", /^[äöü]{2,4}$/],
    ["(?i)ok", /^ok$/i],
    ["a{0}", /^$/],
  ];
  for (const [pattern, outcome] of cases) {
    test(pattern, () => {
      for (const text of answers({ type: "regex", pattern }, 5)) expect(text).toMatch(outcome);
    });
  }

  test("expressions without an automaton are rejected", () => {
    for (const pattern of ["(?=a)b", "(a)\\1", "[a", "\\bx"]) {
      expect(refusal(() => compile(engine, { type: "regex", pattern })).message).not.toBe("");
    }
  });
});

describe("Lark grammars and sets", () => {
  test("recursive rules", () => {
    const grammar = 'start: "(" start ")" | /[0-9]/';
    for (const text of answers({ type: "lark", grammar }, 20)) {
      const depth = text.indexOf(/\d/.exec(text)?.[0] ?? "");
      expect(text).toMatch(new RegExp(`^\\({${depth}}\\d\\){${depth}}$`));
    }
  });

  test("ignored white space, and terminals", () => {
    const grammar = '%ignore / /\nstart: WORD ("," WORD){2}\nWORD: /[a-z]{1,5}/';
    for (const text of answers({ type: "lark", grammar }, 5))
      expect(text).toMatch(/^[a-z]+ *, *[a-z]+ *, *[a-z]+ *$/);
  });

  test("an inline schema follows the rules of other schemas", () => {
    const inline = (schema: unknown): Constraint => ({
      type: "lark",
      grammar: `start: "<" %json ${JSON.stringify(schema)} ">"`,
    });
    for (const text of answers(inline({ type: "integer", minimum: 3, maximum: 5 }), 5))
      expect(text).toMatch(/^<[345]>$/);
    expect(refusal(() => compile(engine, inline({ not: { pattern: "a" } }))).message).toContain("`not`");
  });

  test("grammars of a set can refer to each other", () => {
    const constraint: Constraint = {
      type: "grammars",
      grammars: [
        { larkGrammar: 'start: "call " @arguments "." @tail' },
        {
          name: "arguments",
          jsonSchema: { type: "object", properties: { n: { const: 1 } }, required: ["n"] },
        },
        { name: "tail", larkGrammar: 'start: "done"' },
      ],
    };
    for (const text of answers(constraint, 5)) expect(text).toMatch(/^call \{[^]*\}\.done$/);
  });

  test("a control token is allowed only where a grammar names it", () => {
    const control = vocabulary.flags.findIndex((flags) => flags === 2);
    const name = Buffer.from(vocabulary.texts[control] ?? []).toString();
    const matcher = compile(engine, { type: "lark", grammar: `start: "a" ${name} "b"` });
    expect(feed(matcher, "a")).toBe("ok");
    matcher.computeMask();
    expect(allowedTokens(matcher.mask.words)).toEqual([control]);
    expect(matcher.accept(control)).toBe("ok");
    expect(feed(matcher, "b")).toBe("finished");
    matcher.free();
  });

  test("syntax errors are explained", () => {
    const reason = (constraint: Constraint): string => refusal(() => compile(engine, constraint)).message;
    expect(reason({ type: "lark", grammar: "start: missing" })).toContain('"missing"');
    expect(reason({ type: "lark", grammar: "start: (" })).not.toBe("");
    expect(reason({ type: "lark", grammar: 'start[temperature=0.5]: "a"' })).toContain("temperature");
    expect(reason({ type: "grammars", grammars: [] })).toContain("empty");
    expect(reason({ type: "grammars", grammars: [{ name: "a" }] })).toContain("either");
    expect(reason({ type: "grammars", grammars: [{ larkGrammar: "start: @b" }] })).toContain("b");
  });
});

describe("matchers", () => {
  test("end exactly with the grammar", () => {
    const matcher = compile(engine, { type: "regex", pattern: "ab?" });
    expect(matcher.mayEnd()).toBe(false);
    expect(matcher.accept(ending)).toBe("rejected");
    expect(feed(matcher, "a")).toBe("ok");
    expect(matcher.mayEnd()).toBe(true);
    const copy = matcher.clone();
    expect(copy.accept(ending)).toBe("finished");
    expect(feed(matcher, "b")).toBe("finished");
    matcher.computeMask();
    expect(allowedTokens(matcher.mask.words).every(isEnding)).toBe(true);
    expect(feed(matcher, "b")).toBe("rejected");
    expect(matcher.accept(ending)).toBe("finished");
    matcher.free();
    copy.free();
  });

  test("reject unknown tokens and keep their state", () => {
    const matcher = compile(engine, OBJECT);
    for (const token of [-1, vocabulary.size, 2 ** 31 - 1]) expect(matcher.accept(token)).toBe("rejected");
    expect(feed(matcher, "[")).toBe("rejected");
    expect(feed(matcher, "{")).toBe("ok");
    matcher.free();
  });

  test("masks of a batch equal those computed alone", () => {
    const own = grammarEngine(vocabulary, 2);
    const constraints: Constraint[] = [
      OBJECT,
      { type: "regex", pattern: "x+" },
      { type: "json_schema", schema: {} },
    ];
    const matchers = Array.from({ length: 24 }, (_, i) => compile(own, constraints[i % 3] ?? OBJECT));
    const expected = matchers.map((matcher) => {
      const copy = matcher.clone();
      copy.computeMask();
      const mask = copy.mask.words.slice();
      copy.free();
      return mask;
    });
    for (let round = 0; round < 20; round++) {
      matchers.forEach(({ mask }) => mask.words.fill(0));
      own.masksBegin(matchers);
      expect(() => matchers[0]?.accept(1)).toThrow("is being computed");
      expect(own.masksWait()).toEqual([]);
      expect(matchers.map(({ mask }) => mask.words)).toEqual(expected);
    }
    expect(() => own.masksBegin([matchers[0], matchers[0]] as Matcher[])).toThrow("twice");
    own.masksBegin([]);
    expect(own.masksWait()).toEqual([]);
    for (const matcher of matchers) matcher.free();
    own.close();
  });

  test("the same constraint is compiled once", () => {
    const schema = { enum: Array.from({ length: 3000 }, (_, i) => `value number ${i * 7919}`) };
    compile(engine, { type: "json_schema", schema }).free();
    const again = engine.compile({ type: "json_schema", schema }).take(0); // without any wait
    expect(again).toBeDefined();
    again?.free();
    const { not } = { not: { type: "json_schema", schema: { not: {} } } as const };
    expect(refusal(() => compile(engine, not)).message).toBe(refusal(() => compile(engine, not)).message);
  });

  test("cancelled work frees its memory", () => {
    for (let i = 0; i < 50; i++) engine.compile({ type: "regex", pattern: `a{${i}}b` }).free();
    expect(answers({ type: "regex", pattern: "end" }, 1)).toEqual(["end"]);
  });
});

test.each<[string, object, string, object]>([
  [
    "a text, and members that are missing",
    { to: {}, n: { type: "integer" } },
    '{"to": "hello',
    { to: "hello", n: 0 },
  ],
  ["a text of some length", { to: { minLength: 4, pattern: "^[a-c]*$" } }, '{"to": "a', {}],
  [
    "a list",
    { l: { type: "array", items: { type: "object", required: ["a"] }, minItems: 2 } },
    '{"l": [{"a": [1',
    {},
  ],
  ["an escape", { to: { type: "string" } }, '{"to": "a\\', {}],
  ["words to choose from", { to: { enum: ["celsius", "kelvin"] }, ok: { type: "boolean" } }, '{"to": "k', {}],
])("the way to the end of an answer: %s", (_, properties, begun, expected) => {
  const typed = Object.fromEntries(
    Object.entries(properties).map(([key, value]) => [key, { type: "string", ...value }]),
  );
  const schema = { type: "object", properties: typed, required: Object.keys(typed) };
  const matcher = compile(engine, { type: "json_schema", schema });
  expect(feedText(matcher, vocabulary, begun)).toBe("ok");
  const way = matcher.closing() ?? [];
  for (const { token } of way) expect(matcher.accept(token)).not.toBe("rejected");
  matcher.free();
  const ended = way.slice(0, -1).map(({ token }) => Buffer.from(vocabulary.bytes(token)).toString());
  const answer: unknown = JSON.parse(begun + ended.join(""));
  expect(validator("", schema)(answer)).toBe("");
  expect(answer).toMatchObject(expected);
});
