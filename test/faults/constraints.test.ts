// What a stranger may ask of an answer's form to do harm: schemas, expressions, grammars and tools that grow without bounds.
// Each is answered or refused, the engine lives, and a stream beside it goes on and says the right thing.

import { expect, test } from "bun:test";
import { fileServer } from "../helpers/binary.ts";
import { ask, CAPITAL, COUNT_100, openStream, postChat } from "../helpers/chat-client.ts";
import { errorOf } from "../helpers/faults.ts";
import { within } from "../helpers/until.ts";

const range = (n: number): readonly number[] => Array.from({ length: n }, (_, i) => i);
const named = (n: number, value: unknown) => Object.fromEntries(range(n).map((i) => [`p${i}`, value]));
const nested = (depth: number, inner: object): object =>
  range(depth).reduce((schema) => ({ items: schema }), inner);

const REFERENCES = {
  ...Object.fromEntries(
    range(60).map((i) => [
      `d${i}`,
      { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
    ]),
  ),
  d60: { type: "string" },
};

const SCHEMAS: Readonly<Record<string, object>> = {
  "many properties": { properties: named(10_000, { type: "string" }) },
  "as many properties as are allowed": { properties: named(490, { type: "string" }) },
  "a long enumeration": { properties: { a: { enum: range(20_000) } } },
  "deep nesting": { properties: { a: nested(3000, { type: "string" }) } },
  "references that double": { $defs: REFERENCES, properties: { a: { $ref: "#/$defs/d0" } } },
  "a reference to itself": { $defs: { a: { $ref: "#/$defs/a" } }, properties: { a: { $ref: "#/$defs/a" } } },
  "references along the properties": {
    properties: Object.fromEntries(range(400).map((i) => [`p${i}`, { $ref: `#/properties/p${i + 1}` }])),
  },
  "huge counts": {
    properties: {
      a: { type: "string", minLength: 100_000, maxLength: 100_000 },
      b: {
        type: "array",
        minItems: 1000,
        items: { type: "array", minItems: 1000, items: { minLength: 1000 } },
      },
    },
    required: ["a", "b"],
  },
  "a pattern of repetitions": {
    properties: { a: { type: "string", pattern: "^((a{1,1000}){1,1000}|(x+x+)+y|(.*a){40})$" } },
    required: ["a"],
  },
  "alternatives that multiply": {
    properties: {
      a: { allOf: range(20).map((i) => ({ anyOf: [{ minLength: i }, { maxLength: 99 - i }] })) },
    },
  },
};

const GRAMMARS: Readonly<Record<string, object>> = {
  "nested quantifiers": { type: "regex", value: "(((a*)*)*)*(x+x+)+y" },
  "repetitions of repetitions": { type: "regex", value: "((a{1,1000}){1,1000}){1,100000}" },
  "a long expression": { type: "regex", value: "(a|b)".repeat(50_000) },
  "nested groups": { type: "lark", value: `start: ${"(".repeat(5000)}"a"${")".repeat(5000)}` },
  "an ambiguous grammar": { type: "lark", value: 'start: a\na: a a | "x" |' },
  "repeated rules": { type: "lark", value: 'start: (("x"{1,1000}){1,1000}){1,100000}' },
};

const server = fileServer(["--max-seqs", "8"]);

async function expectHarmless(body: Record<string, unknown>): Promise<void> {
  const engine = server().enginePid();
  const beside = await openStream(server().url, ask(COUNT_100));
  const response = await within(100_000, "it is answered", postChat(server().url, body));
  if (response.status === 200) await response.body?.cancel();
  else {
    const error = await errorOf(response);
    expect([response.status, error.type], error.message).toEqual([400, "invalid_request_error"]);
  }
  const { text, errors } = await beside.finish();
  expect([text, errors]).toEqual([COUNT_100.answer, []]);
  expect(server().enginePid()).toBe(engine);
}

for (const [name, schema] of Object.entries(SCHEMAS)) {
  const parameters = { type: "object", ...schema };
  test(`a schema with ${name}`, () => {
    const format = { type: "json_schema", json_schema: { name: "x", schema: parameters } };
    return expectHarmless(ask(CAPITAL, { response_format: format, max_tokens: 8 }));
  }, 120_000);

  test(`a tool with ${name}`, () => {
    const tools = [{ type: "function", function: { name: "f", parameters } }];
    return expectHarmless(ask(CAPITAL, { tools, tool_choice: "required", max_tokens: 8 }));
  }, 120_000);
}

for (const [name, grammar] of Object.entries(GRAMMARS)) {
  test(`a grammar: ${name}`, () => expectHarmless(ask(CAPITAL, { grammar, max_tokens: 8 })), 120_000);
}
