// The official client against the compiled executable and the built-in model: what other clients have no words for.
// What all can do is in official-clients.test.ts.

import { expect, test } from "bun:test";
import { NotFoundError } from "openai";
import { fileServer } from "../helpers/binary.ts";
import { CAPITAL, COUNT_30, ENDLESS } from "../helpers/chat-client.ts";
import { rejection } from "../helpers/failure.ts";
import { openAi } from "../helpers/official/openai.ts";
import { postJson } from "../helpers/post.ts";

const server = fileServer();
const client = () => openAi(`${server().url}/v1`);
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

test("reasoning ends at its budget in every dialect, streamed or not", async () => {
  const messages = question.messages;
  const bodies: readonly (readonly [path: string, body: object])[] = [
    ["chat/completions", { messages, thinking_budget: 4 }],
    ["chat/completions", { messages, reasoning: { max_tokens: 4 }, stream: true }],
    ["responses", { input: CAPITAL.content, reasoning: { max_tokens: 4 } }],
    [
      "messages",
      { messages, max_tokens: 200, thinking: { type: "enabled", budget_tokens: 4 }, stream: true },
    ],
    ["messages", { messages, max_tokens: 10 }],
  ];
  for (const [path, body] of bodies) {
    const answer = await postJson(`${server().url}/v1/${path}`, {
      model: "default",
      temperature: 0,
      stream_options: { include_usage: true },
      ...body,
    });
    const text = (await answer.text()).replaceAll(/\s/g, "");
    expect(text).toContain('"closed_thoughts":1');
    expect(text).toContain("capital");
  }
});

test("progress of the load and of the prompt does not disturb it", async () => {
  const unload = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"model_id":"svc-tiny"}',
  };
  expect((await fetch(`${server().engineUrl}/v1/models/unload`, unload)).status).toBe(200);
  const body = { ...question, stream: true as const, return_progress: true };
  let content = "";
  const loads: number[] = [];
  const prompts: { total: number; processed: number }[] = [];
  const runner = client().chat.completions.stream(body);
  for await (const chunk of runner) {
    content += chunk.choices[0]?.delta.content ?? "";
    if ("load_progress" in chunk) loads.push((chunk.load_progress as { progress: number }).progress);
    if ("prompt_progress" in chunk)
      prompts.push(chunk.prompt_progress as { total: number; processed: number });
  }
  expect(content).toBe(CAPITAL.answer);
  expect((await runner.finalChatCompletion()).choices[0]?.message.content).toBe(CAPITAL.answer);
  expect([loads[0], loads.at(-1)]).toEqual([0, 1]);
  const { total, processed } = prompts.at(-1) ?? { total: 0, processed: -1 };
  expect(total).toBeGreaterThan(5);
  expect(processed).toBe(total);
});

test("stops at max_tokens and at a stop string", async () => {
  const short = await client().chat.completions.create({ ...question, max_completion_tokens: 3 });
  expect(short.choices[0]?.finish_reason).toBe("length");
  expect(short.usage?.completion_tokens).toBe(3);
  const messages = [{ role: "user" as const, content: COUNT_30.content }];
  const cut = await client().chat.completions.create({ ...question, messages, stop: [", 7"] });
  expect(cut.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "1, 2, 3, 4, 5, 6" } });
});

test("log probabilities are of the text's tokens, whole and accumulated from a stream", async () => {
  const rated = { ...question, logprobs: true, top_logprobs: 3 };
  const { choices } = await client().chat.completions.create(rated);
  const content = choices[0]?.logprobs?.content ?? [];
  expect(content.map(({ token }) => token).join("")).toContain(CAPITAL.answer);
  for (const { token, logprob, top_logprobs } of content) {
    expect(logprob).toBeLessThanOrEqual(0);
    expect(top_logprobs).toHaveLength(3);
    expect(top_logprobs[0]?.token).toBe(token); // at temperature 0 the likeliest one is drawn
  }
  const streamed = await client().chat.completions.stream(rated).finalChatCompletion();
  expect(streamed.choices[0]?.logprobs?.content?.map(({ token }) => token)).toEqual(
    content.map(({ token }) => token),
  );
});

test("n choices are the same at temperature 0 and differ at a higher one", async () => {
  const texts = async (temperature: number) => {
    const messages = [{ role: "user" as const, content: "Tell me a story." }];
    const asked = { ...question, messages, temperature, n: 4, seed: 1, max_completion_tokens: 40 };
    const { choices, usage } = await client().chat.completions.create(asked);
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(usage?.completion_tokens).toBeGreaterThan(4);
    return new Set(choices.map(({ message }) => `${reasoningOf(message)}${message.content}`));
  };
  expect((await texts(0)).size).toBe(1);
  expect((await texts(2)).size).toBeGreaterThan(1);
});

test("arguments of a tool call arrive bit by bit and add up", async () => {
  const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const stream = client().chat.completions.stream({
    ...question,
    messages: [{ role: "user", content: "What is the weather in Paris?" }],
    tools: [{ type: "function", function: { name: "get_weather", parameters } }],
    tool_choice: "required",
  });
  const deltas: string[] = [];
  stream.on("tool_calls.function.arguments.delta", ({ arguments_delta }) => deltas.push(arguments_delta));
  const { choices } = await stream.finalChatCompletion();
  const call = choices[0]?.message.tool_calls?.[0];
  expect(call).toMatchObject({ type: "function", function: { name: "get_weather" } });
  expect(deltas.filter((delta) => delta !== "").length).toBeGreaterThan(1);
  expect(JSON.parse(deltas.join(""))).toEqual({ city: "Paris" });
});

test("completions: several prompts, echoed, with log probabilities, n", async () => {
  const prompt = ["Once upon a time", "The cat"];
  const asked = { model: "default", prompt, max_tokens: 6, temperature: 0, echo: true, logprobs: 2, n: 2 };
  const { choices, usage } = await client().completions.create(asked);
  expect(choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
  choices.forEach(({ text, logprobs }, index) => {
    expect(text).toStartWith(prompt[index >> 1] ?? "");
    expect(logprobs?.tokens?.join("")).toBe(text);
    expect(logprobs?.token_logprobs?.[0]).toBeNull();
    expect(logprobs?.token_logprobs?.slice(1).every((value) => value <= 0)).toBe(true);
  });
  expect(choices[1]?.text).toBe(choices[0]?.text);
  expect(usage?.completion_tokens).toBeLessThanOrEqual(24);
});

test("embeddings as numbers and as base64 are the same vectors", async () => {
  const input = ["a cat", "the capital of France"];
  const asked = { model: "default", input };
  const numbers = await client().embeddings.create({ ...asked, encoding_format: "float" });
  const packed = await client().embeddings.create({ ...asked, encoding_format: "base64" });
  const decoded = packed.data.map(({ embedding }) => {
    const bytes = Uint8Array.from(Buffer.from(embedding, "base64"));
    return [...new Float32Array(bytes.buffer)];
  });
  expect(decoded.map(({ length }) => length)).toEqual([256, 256]);
  expect(decoded).toEqual(numbers.data.map(({ embedding }) => embedding));
  expect(packed.usage).toEqual(numbers.usage);
  expect(numbers.usage.prompt_tokens).toBeGreaterThan(4);
});

test("aborts a stream by leaving its loop", async () => {
  const messages = [{ role: "user" as const, content: ENDLESS.content }];
  const stream = await client().chat.completions.create({ ...question, messages, stream: true });
  for await (const chunk of stream) if ((chunk.choices[0]?.delta.content ?? "") !== "") break;
  expect(stream.controller.signal.aborted).toBe(true);
});

test("lists the model and throws for an unknown one", async () => {
  const { data } = await client().models.list();
  expect(data.map(({ id }) => id)).toEqual(["svc-tiny", "svc-voice"]);
  const failure = await rejection(client().chat.completions.create({ ...question, model: "absent" }));
  expect(failure).toBeInstanceOf(NotFoundError);
  expect(String(failure)).toContain("svc-tiny");
});
