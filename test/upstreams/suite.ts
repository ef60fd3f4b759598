// What every upstream must do behind svc, whatever its API. A test file declares it for its own models.

import { expect, test } from "bun:test";
import type OpenAI from "openai";
import { until } from "../helpers/until.ts";
import type { Front } from "./front.ts";

const QUESTION = "What is the capital of France?";
/** What the built-in model calls the tool for. */
const ORDER = "Please use find_city: name = Rome, limit = 2.";
const TOOL = {
  name: "find_city",
  description: "Finds a city.",
  parameters: {
    type: "object",
    properties: {
      name: { type: "string", enum: ["Paris", "Rome"] },
      limit: { type: "integer", enum: [1, 2, 3] },
    },
    required: ["name", "limit"],
    additionalProperties: false,
  },
} as const;
const SCHEMA = {
  type: "object",
  properties: { city: { type: "string", enum: ["Paris", "Rome"] }, big: { type: "boolean" } },
  required: ["city", "big"],
  additionalProperties: false,
} as const;

/** Declares the tests of a model. `front` is read when they run; `busy` is how many requests its engine works on. */
export function dialectTests(model: string, front: () => Front, busy: () => Promise<number>): void {
  const question: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: QUESTION }];
  const chat = { model, messages: question, max_tokens: 24, temperature: 0 } as const;

  /** The client of Messages has no type for temperature any more. */
  const greedy = { model, temperature: 0 };

  test("chat completions, whole and streamed", async () => {
    const { openAi } = front();
    const answer = await openAi.chat.completions.create(chat);
    expect(answer.model).toBe(model);
    expect(answer.choices[0]?.message.content).toMatch(/\S/);
    expect(answer.choices[0]?.finish_reason).toMatch(/^(?:stop|length)$/);
    expect(answer.usage?.prompt_tokens).toBeGreaterThan(3);
    expect(answer.usage?.completion_tokens).toBeGreaterThan(0);
    expect(answer.usage?.completion_tokens).toBeLessThanOrEqual(24);
    const streamed = { ...chat, stream: true, stream_options: { include_usage: true } } as const;
    const whole = await openAi.chat.completions.stream(streamed).finalChatCompletion();
    expect(whole.choices[0]?.message.content).toMatch(/\S/);
    expect(whole.usage?.prompt_tokens).toBe(answer.usage?.prompt_tokens ?? -1);
  });

  test("Messages, whole and streamed", async () => {
    const { anthropic } = front();
    const body = {
      ...greedy,
      max_tokens: 48,
      system: "Be brief.",
      messages: [{ role: "user" as const, content: QUESTION }],
    };
    for (const answer of [
      await anthropic.messages.create(body),
      await anthropic.messages.stream(body).finalMessage(),
    ]) {
      const text = answer.content.map((block) => (block.type === "text" ? block.text : "")).join("");
      expect(text).toMatch(/\S/);
      expect(answer.usage.input_tokens).toBeGreaterThan(3);
      expect(answer.usage.output_tokens).toBeGreaterThan(0);
    }
  });

  test("Responses, stored and continued", async () => {
    const { openAi } = front();
    const first = await openAi.responses.create({
      model,
      input: QUESTION,
      max_output_tokens: 48,
      temperature: 0,
    });
    expect(first.output_text).toMatch(/\S/);
    const next = { model, input: "And of Italy?", previous_response_id: first.id, temperature: 0 };
    const second = await openAi.responses.stream(next).finalResponse();
    expect(second.output_text).toMatch(/\S/);
    expect(second.usage?.input_tokens).toBeGreaterThan(first.usage?.input_tokens ?? Infinity);
  });

  test("a forced tool call in each dialect, and its result", async () => {
    const { openAi, anthropic } = front();
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: ORDER }];
    const order = { model, messages, max_tokens: 200, temperature: 0 };
    const tool = { type: "function" as const, function: TOOL };
    const forced = { type: "function" as const, function: { name: TOOL.name } };
    for (const tool_choice of ["required" as const, forced]) {
      const called = await openAi.chat.completions.create({
        ...order,
        tools: [tool, { type: "function", function: { ...TOOL, name: "other" } }],
        tool_choice: tool_choice === "required" ? "required" : forced,
      });
      const message = called.choices[0]?.message;
      const call = message?.tool_calls?.[0];
      expect(called.choices[0]?.finish_reason).toBe("tool_calls");
      if (message === undefined || call?.type !== "function") throw new Error("no tool was called");
      expect(call.function.name).toMatch(
        tool_choice === "required" ? /^(?:find_city|other)$/ : /^find_city$/,
      );
      expect(JSON.parse(call.function.arguments)).toEqual({
        name: expect.any(String),
        limit: expect.any(Number),
      });
      const told = { role: "tool" as const, tool_call_id: call.id, content: "Paris" };
      const after = { ...order, messages: [...order.messages, message, told], tools: [tool] };
      expect((await openAi.chat.completions.create(after)).choices[0]?.finish_reason).toMatch(/./);
    }
    const used = await anthropic.messages.create({
      ...greedy,
      max_tokens: 200,
      messages: [{ role: "user", content: ORDER }],
      tools: [
        { name: TOOL.name, input_schema: { ...TOOL.parameters, required: [...TOOL.parameters.required] } },
      ],
      tool_choice: { type: "tool", name: TOOL.name },
    });
    expect(used.stop_reason).toBe("tool_use");
    expect(used.content).toContainEqual(
      expect.objectContaining({ type: "tool_use", name: TOOL.name, input: expect.any(Object) }),
    );
    const responded = await openAi.responses.create({
      model,
      input: ORDER,
      tools: [{ type: "function", ...TOOL, strict: false }],
      tool_choice: "required",
      temperature: 0,
    });
    expect(responded.output).toContainEqual(
      expect.objectContaining({ type: "function_call", name: TOOL.name }),
    );
  });

  test("a client that leaves ends the work, also of the engine", async () => {
    const { openAi, upstreams } = front();
    const leaving = new AbortController();
    const stream = await openAi.chat.completions.create(
      { ...chat, max_tokens: 3000, stream: true },
      { signal: leaving.signal },
    );
    for await (const { choices } of stream) if ((choices[0]?.delta.content ?? "") !== "") break;
    leaving.abort();
    await until("the engine is idle", async () => (await busy()) === 0);
    await until("no request is in flight", async () =>
      (await upstreams(model)).every(({ in_flight: inFlight }) => inFlight === 0),
    );
  });
}

/** An answer that follows a schema, in the dialects that have one. */
export function schemaTests(model: string, front: () => Front): void {
  test("schemas", async () => {
    const { openAi } = front();
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: QUESTION }];
    const json_schema = { name: "answer", schema: SCHEMA, strict: true };
    const answer = await openAi.chat.completions.create({
      model,
      messages,
      response_format: { type: "json_schema", json_schema },
    });
    const format = { type: "json_schema" as const, ...json_schema };
    const response = await openAi.responses.create({ model, input: QUESTION, text: { format } });
    for (const text of [answer.choices[0]?.message.content ?? "", response.output_text])
      expect(JSON.parse(text)).toEqual({
        city: expect.stringMatching(/^(?:Paris|Rome)$/),
        big: expect.any(Boolean),
      });
  });
}

/** Log probabilities of chat completions. */
export function logprobTests(model: string, front: () => Front): void {
  test("log probabilities", async () => {
    const { choices } = await front().openAi.chat.completions.create({
      model,
      messages: [{ role: "user", content: QUESTION }],
      max_tokens: 8,
      logprobs: true,
      top_logprobs: 2,
    });
    const tokens = choices[0]?.logprobs?.content ?? [];
    expect(tokens.length).toBeGreaterThan(0);
    for (const { logprob, top_logprobs: top } of tokens) {
      expect(logprob).toBeLessThanOrEqual(0);
      expect(top.length).toBe(2);
    }
    expect(tokens.map(({ token }) => token).join("")).toContain(choices[0]?.message.content?.trim() ?? "?");
  });
}

/** Vectors of unit length. */
export function embeddingTests(model: string, front: () => Front): void {
  test("embeddings", async () => {
    const { data } = await front().openAi.embeddings.create({ model, input: ["a river", "a train"] });
    expect(data.map(({ index }) => index)).toEqual([0, 1]);
    for (const { embedding } of data) {
      expect(embedding.length).toBeGreaterThan(8);
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 4);
    }
  });
}

/** Completions of a text. */
export function completionTests(model: string, front: () => Front): void {
  test("completions", async () => {
    const { openAi } = front();
    const body = { model, prompt: "Once upon a time", max_tokens: 8 };
    const answer = await openAi.completions.create(body);
    expect(answer.choices[0]?.text).toMatch(/\S/);
    const chunks = await Array.fromAsync(await openAi.completions.create({ ...body, stream: true }));
    expect(chunks.flatMap(({ choices }) => choices.map(({ text }) => text)).join("")).toMatch(/\S/);
  });
}

/** Counts of `count_tokens` and of the answers agree. */
export function countTests(model: string, front: () => Front): void {
  test("count_tokens is what a request costs", async () => {
    const { anthropic } = front();
    const body = { model, messages: [{ role: "user" as const, content: QUESTION }] };
    const { input_tokens: counted } = await anthropic.messages.countTokens(body);
    const { usage } = await anthropic.messages.create({ ...body, max_tokens: 1 });
    expect(counted).toBe(usage.input_tokens + (usage.cache_read_input_tokens ?? 0));
  });
}
