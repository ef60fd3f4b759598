// Constrained answers of the built-in model: whatever it says, what comes out matches.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { Constraint } from "../../src/core/constraint.ts";
import type { ToolSpec } from "../../src/core/message.ts";
import type { RunEvent, RunRequest } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import { type Answer, chatRequest, run, runAll, runCounted } from "../helpers/engine-run.ts";
import { tinyBackend } from "../helpers/native.ts";
import { SCHEMAS } from "../helpers/schemas.ts";
import { validator } from "../helpers/ajv.ts";

let backend: LlamaBackend;
beforeAll(async () => {
  backend = await tinyBackend();
});
afterAll(() => backend.close());

function constrained(constraint: Constraint, seed: number, thinking = false): RunRequest {
  const base = chatRequest("Give me an example.", { constraint, maxTokens: 300 });
  if (base.prompt.type !== "chat") throw new Error("a chat request has a chat prompt");
  const sampling = { ...DEFAULT_SAMPLING, temperature: 1, seed };
  return { ...base, sampling, prompt: { ...base.prompt, thinking: { enabled: thinking } } };
}

function first(answers: Answer[] | RunEvent): Answer {
  const answer = Array.isArray(answers) ? answers[0] : undefined;
  if (answer === undefined) throw new Error(`the run failed: ${JSON.stringify(answers)}`);
  return answer;
}

// Five seeds of each, through the executable: test/e2e/schemas.test.ts.
test("finished answers are valid against their schemas", () => {
  let finished = 0;
  const schemas = Object.entries(SCHEMAS);
  const requests = schemas.map(([, schema]) => constrained({ type: "json_schema", schema }, 1));
  runAll(backend, requests).forEach((answers, i) => {
    const answer = first(answers);
    if (answer.reason === "length") return;
    finished++;
    const [name = "", schema] = schemas[i] ?? [];
    expect(`${name}: ${validator(name, schema)(JSON.parse(answer.text))}`).toBe(`${name}: `);
  });
  expect(finished).toBeGreaterThan(requests.length / 2);
}, 120_000);

test("by default only answers that need not repeat are drafted", () => {
  const schema = {
    type: "object",
    properties: { identification: { enum: ["one", "two"] } },
    required: ["identification"],
  };
  const { sampling, ...request } = constrained({ type: "json_schema", schema }, 1);
  const { seed: _, ...unseeded } = sampling;
  const drafted = (chosen: RunRequest["sampling"]): number => {
    let clock = 0; // goes on evenly, so that drafts pay
    const asked = Array.from({ length: 4 }, () => ({ ...request, sampling: chosen }));
    return runCounted(backend, asked, { drafts: "auto", now: () => clock++ }).stats.draftTokens;
  };
  expect(drafted(sampling)).toBe(0);
  expect(drafted({ ...unseeded, temperature: 0 })).toBe(0);
  expect(drafted(unseeded)).toBeGreaterThan(0);
});

describe("text around the grammar", () => {
  const schema = {
    type: "object",
    properties: { a: { type: "integer" } },
    required: ["a"],
    additionalProperties: false,
  };

  test("reasoning comes before the content, which follows the schema", () => {
    const answers = [1, 2, 3, 4, 5].map((seed) =>
      run(backend, constrained({ type: "json_schema", schema }, seed, true)),
    );
    expect(answers.some(({ reasoning }) => reasoning.length > 0)).toBe(true);
    for (const { text, reason } of answers)
      if (reason === "stop") expect(validator("", schema)(JSON.parse(text))).toBe("");
  });

  test("a tool call may replace the answer", () => {
    const tool: ToolSpec = {
      name: "get_weather",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      strict: false,
    };
    const request = constrained({ type: "json_schema", schema }, 1);
    if (request.prompt.type !== "chat") throw new Error("a chat request has a chat prompt");
    const messages = [
      { role: "user", content: [{ type: "text", text: "What is the weather in Paris?" }] },
    ] as const;
    const prompt = { ...request.prompt, messages, tools: [tool], toolChoice: { type: "auto" } as const };
    const answer = run(backend, { ...request, prompt, sampling: { ...DEFAULT_SAMPLING, temperature: 0 } });
    expect(answer.calls.map(({ name }) => name)).toEqual(["get_weather"]);
  });

  test("a regex applies to the whole answer", () => {
    for (const seed of [1, 2, 3]) {
      const answer = run(backend, constrained({ type: "regex", pattern: "(yes|no), [a-z]{3}!" }, seed));
      expect(answer.text).toMatch(/^(yes|no), [a-z]{3}!$/);
    }
  });

  test("a Lark grammar and a set of grammars apply", () => {
    const lark = run(backend, constrained({ type: "lark", grammar: 'start: "red" | "green" | "blue"' }, 1));
    expect(["red", "green", "blue"]).toContain(lark.text);
    const set = {
      type: "grammars",
      grammars: [{ larkGrammar: 'start: "<" @inner ">"' }, { name: "inner", jsonSchema: { enum: [1, 2] } }],
    };
    expect(run(backend, constrained(set as Constraint, 1)).text).toMatch(/^<[12]>$/);
  });

  test("each choice of a request has its own grammar state", () => {
    const request = { ...constrained({ type: "regex", pattern: "[0-9]{6}" }, 3), choices: 4 };
    const [answers] = runAll(backend, [request], 16);
    const texts = Array.isArray(answers) ? answers.map(({ text }) => text) : [];
    expect(texts).toHaveLength(4);
    for (const text of texts) expect(text).toMatch(/^[0-9]{6}$/);
    expect(new Set(texts).size).toBeGreaterThan(1);
  });

  test("unsupported constraints are rejected with a reason", () => {
    const [error] = runAll(backend, [constrained({ type: "regex", pattern: "(?=lookahead)x" }, 1)]);
    expect(error).toMatchObject({ type: "error", error: { code: "invalid_request" } });
  });
});
