// The official client against the compiled executable and the built-in model.

import { expect, test } from "bun:test";
import OpenAI, { NotFoundError } from "openai";
import { fileServer } from "../helpers/binary.ts";
import { CAPITAL, COUNT_30, ENDLESS } from "../helpers/chat-client.ts";

const server = fileServer();
const client = () => new OpenAI({ apiKey: "any", baseURL: `${server().url}/v1`, maxRetries: 0 });
const question = {
  model: "default",
  messages: [{ role: "user" as const, content: CAPITAL.content }],
  temperature: 0,
};

/** `reasoning_content` is no field of the client's types, as other servers' clients know. */
function reasoningOf(part: object | undefined): string {
  const reasoning = part !== undefined && "reasoning_content" in part ? part.reasoning_content : "";
  return typeof reasoning === "string" ? reasoning : "";
}

test("completes, with reasoning and consistent usage", async () => {
  const { choices, usage, model } = await client().chat.completions.create(question);
  expect(model).toBe("svc-tiny");
  expect(choices).toHaveLength(1);
  expect(choices[0]).toMatchObject({ finish_reason: "stop", message: { content: CAPITAL.answer } });
  expect(reasoningOf(choices[0]?.message)).toContain("Paris");
  const { prompt_tokens = 0, completion_tokens = 0, total_tokens } = usage ?? {};
  expect(total_tokens).toBe(prompt_tokens + completion_tokens);
  const reasoningTokens = usage?.completion_tokens_details?.reasoning_tokens ?? 0;
  expect(prompt_tokens).toBeGreaterThan(5);
  expect(reasoningTokens).toBeGreaterThan(5);
  expect(completion_tokens).toBeGreaterThan(reasoningTokens + 5);
});

test("streams what the body says", async () => {
  const whole = await client().chat.completions.create(question);
  const stream = await client().chat.completions.create({
    ...question,
    stream: true,
    stream_options: { include_usage: true },
  });
  let content = "";
  let reasoning = "";
  let reason: string | null = null;
  let usage: OpenAI.CompletionUsage | null | undefined;
  for await (const chunk of stream) {
    content += chunk.choices[0]?.delta.content ?? "";
    reasoning += reasoningOf(chunk.choices[0]?.delta);
    reason = chunk.choices[0]?.finish_reason ?? reason;
    usage = chunk.usage ?? usage;
  }
  expect({ content, reasoning, reason }).toEqual({
    content: CAPITAL.answer,
    reasoning: reasoningOf(whole.choices[0]?.message),
    reason: "stop",
  });
  const { prompt_tokens, completion_tokens, completion_tokens_details } = whole.usage ?? {};
  expect(usage).toMatchObject({ prompt_tokens, completion_tokens, completion_tokens_details });
});

test("stops at max_tokens and at a stop string", async () => {
  const short = await client().chat.completions.create({ ...question, max_completion_tokens: 3 });
  expect(short.choices[0]?.finish_reason).toBe("length");
  expect(short.usage?.completion_tokens).toBe(3);
  const messages = [{ role: "user" as const, content: COUNT_30.content }];
  const cut = await client().chat.completions.create({ ...question, messages, stop: [", 7"] });
  expect(cut.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "1, 2, 3, 4, 5, 6" } });
});

test("continues a text", async () => {
  const { choices, usage } = await client().completions.create({
    model: "default",
    prompt: "Once upon a time",
    max_tokens: 8,
    temperature: 0,
  });
  expect(choices[0]?.text).toMatch(/\w/);
  expect(usage?.completion_tokens).toBeLessThanOrEqual(8);
});

test("embeds texts: unit vectors, equal for equal texts", async () => {
  const input = ["a cat", "a cat", "the capital of France"];
  const { data } = await client().embeddings.create({ model: "default", input });
  const [first, second, other] = data.map(({ embedding }) => embedding);
  expect(Math.hypot(...(first ?? []))).toBeCloseTo(1, 3);
  expect(second).toEqual(first ?? []);
  expect(other).not.toEqual(first ?? []);
});

test("aborts a stream by leaving its loop", async () => {
  const messages = [{ role: "user" as const, content: ENDLESS.content }];
  const stream = await client().chat.completions.create({ ...question, messages, stream: true });
  for await (const chunk of stream) if ((chunk.choices[0]?.delta.content ?? "") !== "") break;
  expect(stream.controller.signal.aborted).toBe(true);
});

test("lists the model and throws for an unknown one", async () => {
  const { data } = await client().models.list();
  expect(data.map(({ id }) => id)).toEqual(["svc-tiny"]);
  const failure = await client()
    .chat.completions.create({ ...question, model: "absent" })
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(NotFoundError);
  expect(String(failure)).toContain("svc-tiny");
});
