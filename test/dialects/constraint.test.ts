// Output constraints: `response_format` and `grammar`.

import { describe, expect, test } from "bun:test";
import { type Compat, STRICT } from "../../src/core/compat.ts";
import type { Constraint } from "../../src/core/constraint.ts";
import { GRAMMARS_MAX } from "../../src/dialects/shared/limits.ts";
import { parseChatRequest } from "../../src/dialects/chat/request.ts";
import { parseCompletionRequest } from "../../src/dialects/completions/request.ts";
import { parseMessagesRequest } from "../../src/dialects/messages/request.ts";
import { parseResponsesRequest } from "../../src/dialects/responses/request.ts";
import { chatBody, messagesBody, responsesBody, textBody } from "../helpers/app.ts";
import { NOTHING_STORED } from "../helpers/response-head.ts";
import { type Body, type Rule, testRules } from "../helpers/rules.ts";

const constraint = (extra: Body) => parseChatRequest(chatBody(extra)).run.constraint;

const SCHEMA = { type: "object", properties: { a: { type: "integer" } } };
const CLIENTS: Compat = { ...STRICT, mode: "clients" };
const FORMAT = { type: "json_schema", json_schema: { name: "answer", schema: SCHEMA } };
const set = (...grammars: readonly Body[]) => ({ type: "llguidance", value: { grammars } });

describe("response_format", () => {
  test("json_schema constrains the answer, strict or not", () => {
    const meaning: Constraint = { type: "json_schema", schema: SCHEMA, strict: false };
    expect(constraint({ response_format: FORMAT })).toEqual(meaning);
    for (const strict of [true, false, null]) {
      const json_schema = { ...FORMAT.json_schema, strict, description: null };
      const expected = { ...meaning, strict: strict === true };
      expect(constraint({ response_format: { type: "json_schema", json_schema } })).toEqual(expected);
    }
  });

  test("a schema counts in every form: nested, beside the type, without a name", () => {
    const meaning: Constraint = { type: "json_schema", schema: SCHEMA, strict: false };
    const flat = { type: "json_schema", schema: SCHEMA };
    const forms = [flat, { ...flat, name: "a" }, { type: "json_schema", json_schema: { schema: SCHEMA } }];
    for (const form of [...forms, { type: "json_object", schema: SCHEMA }]) {
      const body = { response_format: form };
      expect(parseChatRequest(chatBody(body), CLIENTS).run.constraint).toEqual(meaning);
      expect(parseMessagesRequest(messagesBody(body), CLIENTS).run.constraint).toEqual(meaning);
      expect(parseCompletionRequest(textBody(body), CLIENTS).runs[0]?.constraint).toEqual(meaning);
      const older = parseMessagesRequest(messagesBody({ output_format: form }), CLIENTS).run;
      expect(older).toMatchObject({ constraint: meaning, constraintParam: "output_format" });
      const text = responsesBody({ text: { format: form } });
      expect(parseResponsesRequest(text, NOTHING_STORED, CLIENTS).run.constraint).toEqual(meaning);
    }
  });

  test("fields of vLLM and llama.cpp constrain in every dialect", () => {
    const schema: Constraint = { type: "json_schema", schema: SCHEMA, strict: false };
    const choice: Constraint = { type: "regex", pattern: "a\\.b|c" };
    const cases: readonly [Body, Constraint][] = [
      [{ guided_json: SCHEMA }, schema],
      [{ guided_json: JSON.stringify(SCHEMA) }, schema],
      [{ json_schema: SCHEMA }, schema],
      [{ structured_outputs: { json: SCHEMA } }, schema],
      [{ structured_outputs: { json_object: true } }, { ...schema, schema: { type: "object" } }],
      [{ guided_regex: "a+" }, { type: "regex", pattern: "a+" }],
      [{ structured_outputs: { regex: "a+" } }, { type: "regex", pattern: "a+" }],
      [{ guided_choice: ["a.b", "c"] }, choice],
      [{ structured_outputs: { choice: ["a.b", "c"] } }, choice],
      [{ guided_grammar: "start: /a/" }, { type: "lark", grammar: "start: /a/" }],
    ];
    for (const [body, meaning] of cases) {
      expect(parseChatRequest(chatBody(body)).run.constraint).toEqual(meaning);
      expect(parseMessagesRequest(messagesBody(body)).run.constraint).toEqual(meaning);
      expect(parseCompletionRequest(textBody(body)).runs[0]?.constraint).toEqual(meaning);
      expect(parseResponsesRequest(responsesBody(body), NOTHING_STORED).run.constraint).toEqual(meaning);
    }
  });

  test("text means no constraint", () => {
    expect(constraint({ response_format: { type: "text" } })).toBeUndefined();
    expect(constraint({ response_format: null, grammar: null })).toBeUndefined();
  });
});

describe("max_tokens of a grammar set", () => {
  const first = { lark_grammar: "start: /a+/", max_tokens: 7 };
  const sets = (more: Body = {}) => ({ type: "llguidance", value: { grammars: [first], ...more } });
  const cap = (extra: Body) => parseChatRequest(chatBody(extra)).run.maxTokens;

  test("caps the answer; the smallest cap applies", () => {
    expect(cap({ grammar: sets() })).toBe(7);
    expect(cap({ grammar: sets({ max_tokens: 5 }) })).toBe(5);
    expect(cap({ grammar: sets({ max_tokens: 9 }), max_tokens: 3 })).toBe(3);
    expect(cap({ grammar: { ...sets(), value: JSON.stringify(sets().value) } })).toBe(7);
    expect(cap({ grammar: { type: "lark", value: "start: /a+/" } })).toBeUndefined();
  });

  test("applies in every dialect", () => {
    const body = { grammar: sets() };
    expect(parseMessagesRequest(messagesBody(body)).run.maxTokens).toBe(7);
    expect(parseResponsesRequest(responsesBody(body), NOTHING_STORED).run.maxTokens).toBe(7);
    expect(parseCompletionRequest(textBody({ ...body, max_tokens: 9 })).runs[0]?.maxTokens).toBe(7);
  });
});

const FORMS: readonly [object, Constraint][] = [
  [
    { type: "regex", value: "a+" },
    { type: "regex", pattern: "a+" },
  ],
  [
    { type: "lark", value: 'start: "a"' },
    { type: "lark", grammar: 'start: "a"' },
  ],
  [
    { type: "json_schema", value: SCHEMA },
    { type: "json_schema", schema: SCHEMA },
  ],
  [
    { type: "json_schema", value: JSON.stringify(SCHEMA) },
    { type: "json_schema", schema: SCHEMA },
  ],
  [
    set({ lark_grammar: "start: @a", name: null, json_schema: null }, { name: "a", json_schema: SCHEMA }),
    { type: "grammars", grammars: [{ larkGrammar: "start: @a" }, { name: "a", jsonSchema: SCHEMA }] },
  ],
  [
    { type: "llguidance", value: JSON.stringify({ grammars: [{ json_schema: SCHEMA, max_tokens: null }] }) },
    { type: "grammars", grammars: [{ jsonSchema: SCHEMA }] },
  ],
];

describe("grammar", () => {
  test.each(FORMS)("%j", (grammar, meaning) => {
    expect(constraint({ grammar })).toEqual(meaning);
    expect(constraint({ grammar, response_format: { type: "text" } })).toEqual(meaning);
    expect(parseCompletionRequest(textBody({ grammar })).runs[0]?.constraint).toEqual(meaning);
  });
});

const grammar = (value: unknown) => chatBody({ grammar: value });
const IN_SET = "grammar.value.grammars";
const RULES: readonly Rule[] = [
  [chatBody({ response_format: "text" }), "invalid_request", "response_format", "an object"],
  [chatBody({ response_format: {} }), "missing_field", "response_format.type"],
  [
    chatBody({ response_format: { type: "xml" } }),
    "unsupported_value",
    "response_format.type",
    '"json_schema"',
  ],
  [
    chatBody({ response_format: { type: "json_object" } }),
    "unsupported_value",
    "response_format.type",
    "not supported",
    "json_schema",
  ],
  [chatBody({ response_format: { type: "json_schema" } }), "missing_field", "response_format.json_schema"],
  [chatBody({ guided_json: "no" }), "invalid_request", "guided_json", "JSON text"],
  [chatBody({ guided_grammar: "root ::= [a]" }), "unsupported_value", "guided_grammar", "Lark"],
  [
    chatBody({ guided_regex: "a", response_format: FORMAT }),
    "contradictory_fields",
    "guided_regex",
    "response_format",
  ],
  [
    chatBody({ response_format: { type: "json_schema", schema: "{}" } }),
    "invalid_request",
    "response_format.schema",
    "an object",
  ],
  [
    chatBody({ response_format: { type: "json_schema", json_schema: { name: "a" } } }),
    "missing_field",
    "response_format.json_schema.schema",
  ],
  [
    chatBody({ response_format: { type: "json_schema", json_schema: { name: "a", schema: "{}" } } }),
    "invalid_request",
    "response_format.json_schema.schema",
    "an object",
  ],
  [
    chatBody({ response_format: FORMAT, grammar: { type: "regex", value: "a" } }),
    "contradictory_fields",
    "grammar",
  ],
  [grammar("a"), "invalid_request", "grammar", "an object"],
  [grammar({ value: "a" }), "missing_field", "grammar.type"],
  [grammar({ type: "gbnf", value: "a" }), "unsupported_value", "grammar.type", '"lark"', '"gbnf"'],
  [grammar({ type: "regex" }), "missing_field", "grammar.value"],
  [grammar({ type: "regex", value: {} }), "invalid_request", "grammar.value", "a string"],
  [grammar({ type: "regex", value: "" }), "invalid_request", "grammar.value", "empty"],
  [grammar({ type: "lark", value: {} }), "invalid_request", "grammar.value", "a string"],
  [grammar({ type: "json_schema", value: 5 }), "invalid_request", "grammar.value", "an object or a string"],
  [grammar({ type: "json_schema", value: "{" }), "invalid_request", "grammar.value", "JSON text"],
  [grammar({ type: "json_schema", value: "[]" }), "invalid_request", "grammar.value", "JSON text"],
  [grammar({ type: "llguidance", value: "start: x" }), "invalid_request", "grammar.value", "JSON text"],
  [grammar({ type: "llguidance", value: {} }), "missing_field", IN_SET],
  [grammar({ type: "llguidance", value: "{}" }), "missing_field", IN_SET],
  [grammar(set()), "invalid_request", IN_SET, "empty"],
  [grammar(set(...Array(GRAMMARS_MAX + 1).fill({ lark_grammar: "x" }))), "invalid_request", IN_SET],
  [grammar(set({ name: "a" })), "invalid_request", `${IN_SET}[0]`, "exactly one"],
  [grammar(set({ json_schema: {}, lark_grammar: "x" })), "invalid_request", `${IN_SET}[0]`, "exactly one"],
  [
    grammar(set({ lark_grammar: "start: @a" }, { name: "a", lark_grammar: "x", max_tokens: 5 })),
    "unsupported_value",
    `${IN_SET}[1].max_tokens`,
  ],
  [grammar(set({ lark_grammar: "x", max_tokens: 0 })), "invalid_request", `${IN_SET}[0].max_tokens`],
  [
    grammar(set({ name: "a", lark_grammar: "x" }, { name: "a", lark_grammar: "y" })),
    "invalid_request",
    `${IN_SET}[1].name`,
    "earlier",
  ],
  [grammar(set({ name: "", lark_grammar: "x" })), "invalid_request", `${IN_SET}[0].name`, "empty"],
  [textBody({ grammar: { type: "regex" } }), "missing_field", "grammar.value"],
];

describe("refused", () =>
  testRules((body) => ("prompt" in body ? parseCompletionRequest(body) : parseChatRequest(body)), RULES));
