// The AI SDK with its provider for compatible servers.

import { beforeAll, describe, expect, test } from "bun:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embedMany, generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { STRUCTURED, TOOL_ARGS } from "../helpers/fake-model.ts";
import { fakeServer } from "../helpers/listening.ts";

globalThis.AI_SDK_LOG_WARNINGS = false; // a completion model has no tool choice, says the SDK

const server = fakeServer();
let provider: ReturnType<typeof createOpenAICompatible>;
beforeAll(() => {
  provider = createOpenAICompatible({
    name: "svc",
    baseURL: server.baseUrl(),
    supportsStructuredOutputs: true,
    includeUsage: true,
  });
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
    const { text, usage, finishReason } = await generateText({
      model: provider("tiny"),
      prompt,
      maxRetries: 0,
    });
    expect(text).toBe("You said the weather?");
    expect(finishReason).toBe("stop");
    expect(usage).toMatchObject({ inputTokens: 12, outputTokens: 8 });
  });

  test("streamed", async () => {
    const { textStream, usage } = streamText({ model: provider("tiny"), prompt, maxRetries: 0 });
    expect((await Array.fromAsync(textStream)).join("")).toBe("You said the weather?");
    expect(await usage).toMatchObject({ inputTokens: 12, outputTokens: 8 });
  });

  test("of a completion model", async () => {
    const model = provider.completionModel("tiny");
    const { text } = await generateText({ model, prompt, maxRetries: 0 });
    expect(text).toContain("and so on");
    const { textStream } = streamText({ model, prompt, maxRetries: 0 });
    expect((await Array.fromAsync(textStream)).join("")).toContain("and so on");
  });
});

describe("tools", () => {
  const stopWhen = stepCountIs(2);

  test("whole: the tool is called and its result used", async () => {
    const { text, steps } = await generateText({
      model: provider("tiny"),
      prompt,
      tools,
      stopWhen,
      maxRetries: 0,
    });
    expect(steps[0]?.toolCalls).toMatchObject([{ toolName: "weather", input: TOOL_ARGS }]);
    expect(text).toBe(TOLD);
  });

  test("streamed, with reasoning before", async () => {
    const result = streamText({ model: provider("tiny"), prompt, tools, stopWhen, maxRetries: 0 });
    const parts = await Array.fromAsync(result.fullStream);
    const joined = (type: string) =>
      parts.flatMap((part) => (part.type === type && "text" in part ? [part.text] : [])).join("");
    expect(joined("reasoning-delta")).toBe("I need a tool.");
    expect(joined("text-delta")).toBe(TOLD);
    const deltas = parts.flatMap((part) => (part.type === "tool-input-delta" ? [part.delta] : []));
    expect(JSON.parse(deltas.join(""))).toEqual(TOOL_ARGS);
    expect(deltas.length).toBeGreaterThan(5);
  });

  test("the choice is passed on", async () => {
    const toolChoice = { type: "tool", toolName: "weather" } as const;
    await generateText({ model: provider("tiny"), prompt, tools, toolChoice, maxRetries: 0 });
    expect(server.lastRequest()?.prompt).toMatchObject({
      toolChoice: { type: "named", names: ["weather"], required: true },
    });
  });
});

describe("structured output", () => {
  const output = Output.object({ schema: z.object({ name: z.string(), age: z.number() }) });

  test("whole", async () => {
    const result = await generateText({ model: provider("tiny"), prompt, output, maxRetries: 0 });
    expect(result.output).toEqual(STRUCTURED);
    expect(server.lastRequest()?.constraint).toMatchObject({ type: "json_schema" });
  });

  test("streamed", async () => {
    const result = streamText({ model: provider("tiny"), prompt, output, maxRetries: 0 });
    expect(await result.output).toEqual(STRUCTURED);
  });
});

test("embeddings", async () => {
  const model = provider.embeddingModel("tiny");
  const { embeddings, usage } = await embedMany({ model, values: ["a", "bcd"], maxRetries: 0 });
  expect(embeddings).toEqual([
    [0, 1],
    [1, 3],
  ]);
  expect(usage.tokens).toBe(4);
});

test("an error has its status and message", async () => {
  const failing = generateText({ model: provider("tiny"), prompt, temperature: 9, maxRetries: 0 });
  const error = await failing.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ statusCode: 400 });
  expect(String(error)).toContain("temperature");
});
