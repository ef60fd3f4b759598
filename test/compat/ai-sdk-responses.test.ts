// The AI SDK with the provider that speaks the Responses dialect.

import { beforeAll, describe, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { STRUCTURED, TOOL_ARGS } from "../helpers/fake-model.ts";
import { fakeServer } from "../helpers/listening.ts";

globalThis.AI_SDK_LOG_WARNINGS = false; // reasoning is not sent back without encryption, says the SDK

const server = fakeServer();
let model: ReturnType<ReturnType<typeof createOpenAI>["responses"]>;
beforeAll(() => {
  model = createOpenAI({ baseURL: server.baseUrl(), apiKey: "any" }).responses("tiny");
});

const prompt = "the weather?";
const tools = {
  weather: tool({
    description: "Says the weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `sunny in ${city}`,
  }),
};
const TOLD = `The tool says sunny in ${TOOL_ARGS.city}`;

describe("text", () => {
  test("whole", async () => {
    const { text, usage, finishReason, response } = await generateText({ model, prompt, maxRetries: 0 });
    expect({ text, finishReason }).toEqual({ text: "You said the weather?", finishReason: "stop" });
    expect(usage).toMatchObject({ inputTokens: 12, outputTokens: 8 });
    expect(response.id).toStartWith("resp_");
  });

  test("streamed", async () => {
    const { textStream, usage } = streamText({ model, prompt, maxRetries: 0 });
    expect((await Array.fromAsync(textStream)).join("")).toBe("You said the weather?");
    expect(await usage).toMatchObject({ inputTokens: 12, outputTokens: 8 });
  });
});

describe("tools: the second step refers to the first one's items by id, and its result is used", () => {
  const stopWhen = stepCountIs(2);

  test("whole", async () => {
    const { text, steps } = await generateText({ model, prompt, tools, stopWhen, maxRetries: 0 });
    expect(steps[0]?.toolCalls).toMatchObject([{ toolName: "weather", input: TOOL_ARGS }]);
    expect(text).toBe(TOLD);
    expect(server.lastRequest()?.prompt).toMatchObject({
      messages: [
        { role: "user" },
        { role: "assistant", toolCalls: [{ name: "weather" }] },
        { role: "tool", name: "weather" },
      ],
    });
  });

  test("streamed", async () => {
    const result = streamText({ model, prompt, tools, stopWhen, maxRetries: 0 });
    const parts = await Array.fromAsync(result.fullStream);
    const said = parts.flatMap((part) => (part.type === "text-delta" ? [part.text] : []));
    expect(said.join("")).toBe(TOLD);
    const deltas = parts.flatMap((part) => (part.type === "tool-input-delta" ? [part.delta] : []));
    expect(JSON.parse(deltas.join(""))).toEqual(TOOL_ARGS);
  });

  test("without stored responses the items themselves are sent", async () => {
    const providerOptions = { openai: { store: false } };
    const { text } = await generateText({ model, prompt, tools, stopWhen, providerOptions, maxRetries: 0 });
    expect(text).toBe(TOLD);
  });
});

test("structured output", async () => {
  const output = Output.object({ schema: z.object({ name: z.string(), age: z.number() }) });
  const result = await generateText({ model, prompt, output, maxRetries: 0 });
  expect(result.output).toEqual(STRUCTURED);
  expect(server.lastRequest()?.constraint).toMatchObject({ type: "json_schema" });
});

test("an error has its status and message", async () => {
  const failing = generateText({ model, prompt, temperature: 9, maxRetries: 0 });
  const error = await failing.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ statusCode: 400 });
  expect(String(error)).toContain("temperature");
});
