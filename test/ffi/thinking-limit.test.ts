// Budgets of reasoning with the built-in model, which thinks first: exact, in every decode mode and beside other answers.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { ChatPrompt, RunRequest } from "../../src/core/run.ts";
import { Engine } from "../../src/worker/text/engine.ts";
import { type Answer, chatRequest, EngineTalk, runAll } from "../helpers/engine-run.ts";
import { noConstraints } from "../helpers/fake-backend.ts";
import { tinyBackend } from "../helpers/native.ts";

const QUESTION = "What is the capital of France?";
const SENTENCE = /I answer now\.\n$/;

let backend: LlamaBackend;
beforeAll(async () => void (backend = await tinyBackend({ prefixCacheN: 4, threads: 1, threadsBatch: 1 })));
afterAll(() => backend.close());

function thinking(
  budget: number | undefined,
  extra: Partial<RunRequest> = {},
  prompt: Partial<ChatPrompt> = {},
): RunRequest {
  const request = chatRequest(QUESTION, extra);
  if (request.prompt.type !== "chat") throw new Error("a conversation");
  const limit = budget === undefined ? {} : { budget };
  return { ...request, prompt: { ...request.prompt, thinking: { enabled: true, ...limit }, ...prompt } };
}

function asked(request: RunRequest) {
  const talk = new EngineTalk(backend, 0);
  const result = talk.ask(request);
  const { closedThoughts } = talk.stats();
  talk.close();
  return { ...result, closedThoughts };
}

test("the reasoning has as many tokens as its budget, then the sentence, and the answer follows", () => {
  const free = asked(thinking(undefined, { maxTokens: 300 }));
  expect(free).toMatchObject({ closedThoughts: 0 });
  expect(free.usage.closedThoughts).toBeUndefined();
  const closing = asked(thinking(1, { maxTokens: 300 })).usage.reasoningTokens - 1;
  for (const budget of [2, 16]) {
    const { answer, usage, closedThoughts } = asked(thinking(budget, { maxTokens: 300 }));
    expect(usage).toMatchObject({ reasoningTokens: budget + closing, closedThoughts: 1 });
    expect(closedThoughts).toBe(1);
    expect(answer.reasoning).toMatch(SENTENCE);
    expect(free.answer.reasoning).toStartWith(answer.reasoning.replace(/\n\nI have.*\n/, ""));
    expect(answer).toMatchObject({ text: free.answer.text, reason: "stop" });
  }
  expect(asked(thinking(200, { maxTokens: 300 })).answer).toEqual(free.answer);
});

test("a small cap leaves room for the answer, with the tag alone where the sentence takes too much", () => {
  for (const maxTokens of [6, 12, 29]) {
    const { answer, usage } = asked(thinking(undefined, { maxTokens }));
    expect(answer.text).not.toBe("");
    expect(usage).toMatchObject({ completionTokens: maxTokens, closedThoughts: 1 });
  }
});

test("a cap without room for the end is the cap", () => {
  for (const maxTokens of [1, 2, 3, 4])
    expect(asked(thinking(undefined, { maxTokens })).usage.completionTokens).toBe(maxTokens);
});

test("a sentence that contains a stop string is left out", () => {
  const { answer, usage } = asked(thinking(5, { stop: ["long enough"] }));
  expect(answer.reasoning).not.toMatch(SENTENCE);
  expect(answer.text).toContain("Paris");
  expect(usage.closedThoughts).toBe(1);
});

test("a schema holds for the answer after reasoning that was ended", () => {
  const schema = {
    type: "object",
    properties: { city: { enum: ["Paris", "Rome"] } },
    required: ["city"],
    additionalProperties: false,
  };
  const { answer, usage } = asked(
    thinking(4, { constraint: { type: "json_schema", schema, strict: true }, maxTokens: 300 }),
  );
  expect(answer.reasoning).toMatch(SENTENCE);
  expect(usage.closedThoughts).toBe(1);
  expect(["Paris", "Rome"]).toContain(JSON.parse(answer.text).city);
});

test.each(["required", "auto"] as const)("a call may follow: %s", (type) => {
  const parameters = {
    type: "object",
    properties: { city: { type: "string", maxLength: 8 } },
    required: ["city"],
    additionalProperties: false,
  };
  const tools = [{ name: "get_weather", parameters, strict: true }];
  const request = thinking(4, { maxTokens: 300 }, { tools, toolChoice: { type } });
  const { answer, usage } = asked(request);
  expect(usage.closedThoughts).toBe(1);
  expect(answer.reasoning).toMatch(SENTENCE);
  if (type === "required") expect(answer.calls[0]?.name).toBe("get_weather");
});

test("answers beside each other have their own budgets", () => {
  const budgets = [3, undefined, 8];
  const requests = budgets.map((budget) => thinking(budget, { maxTokens: 300 }));
  const together = runAll(backend, requests).map((answers) =>
    Array.isArray(answers) ? answers[0] : answers,
  );
  const alone: (Answer | undefined)[] = requests.map((request) => asked(request).answer);
  expect(together).toEqual(alone);
});

test("several steps in one native call, and drafts, end the reasoning at the same token", () => {
  const written = (multiStepMs: number, speculates: boolean): string => {
    const said: Record<string, string> = {};
    const add = (key: string, text: string): void => void (said[key] = (said[key] ?? "") + text);
    let clock = 0;
    const engine = new Engine({
      backend,
      constraints: noConstraints,
      prefixCacheN: 4,
      multiStepMs,
      drafts: speculates ? "ngram" : "off",
      emit: (run, event) => {
        if (event.type === "text" || event.type === "reasoning") add(`${run} ${event.choice}`, event.text);
        if (event.type === "finish") add(`${run}`, JSON.stringify({ ...event.usage, cachedTokens: 0 }));
        if (event.type === "error") throw new Error(event.error.message);
      },
      now: () => clock++,
      newSeed: () => 1,
    });
    [5, 14].forEach((budget, id) => {
      engine.add(id, thinking(budget, { choices: 2, maxTokens: 300 }));
      while (engine.step(5) !== "idle");
    });
    engine.close();
    return JSON.stringify(said);
  };
  const plain = written(0, false);
  expect(plain.match(/I answer now/g)).toHaveLength(4);
  expect(written(40, false)).toBe(plain);
  expect(written(0, true)).toBe(plain);
});
