// The AI SDK with its provider for the messages dialect.

import { beforeAll, describe, expect, test } from "bun:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { STRUCTURED, TOOL_ARGS } from "../helpers/fake-model.ts";
import { fakeServer } from "../helpers/listening.ts";

globalThis.AI_SDK_LOG_WARNINGS = false; // it does not know the model's name

const server = fakeServer();
let provider: ReturnType<typeof createAnthropic>;
beforeAll(() => {
  provider = createAnthropic({ baseURL: server.baseUrl(), apiKey: "any" });
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
const stopWhen = stepCountIs(2);

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
});

describe("tools", () => {
  test("whole: the tool is called, its result used, and the reasoning handed back", async () => {
    const asked = { model: provider("tiny"), prompt, tools, stopWhen, maxRetries: 0 };
    const { text, steps } = await generateText(asked);
    expect(steps[0]?.reasoningText).toBe("I need a tool.");
    expect(steps[0]?.toolCalls).toMatchObject([{ toolName: "weather", input: TOOL_ARGS }]);
    expect(text).toBe(TOLD);
    const { prompt: sent } = server.lastRequest() ?? {};
    expect(sent).toMatchObject({ messages: [{}, { reasoning: "I need a tool." }, { role: "tool" }] });
  });

  test("streamed", async () => {
    const result = streamText({ model: provider("tiny"), prompt, tools, stopWhen, maxRetries: 0 });
    const parts = await Array.fromAsync(result.fullStream);
    const joined = (type: string) =>
      parts.flatMap((part) => (part.type === type && "text" in part ? [part.text] : [])).join("");
    expect(parts.filter(({ type }) => type === "error")).toEqual([]);
    expect(joined("reasoning-delta")).toBe("I need a tool.");
    expect(joined("text-delta")).toBe(TOLD);
    const deltas = parts.flatMap((part) => (part.type === "tool-input-delta" ? [part.delta] : []));
    expect(JSON.parse(deltas.join(""))).toEqual(TOOL_ARGS);
  });
});

test("structured output", async () => {
  const schema = z.object({ name: z.string(), age: z.number() });
  const { output } = await generateText({
    model: provider("tiny"),
    prompt,
    output: Output.object({ schema }),
    providerOptions: { anthropic: { structuredOutputMode: "outputFormat" } },
    maxRetries: 0,
  });
  expect(output).toEqual(STRUCTURED);
  expect(server.lastRequest()?.constraint).toMatchObject({ type: "json_schema" });
});

test("an error has its status and message", async () => {
  const failing = generateText({ model: provider("tiny"), prompt, topP: 9, maxRetries: 0 });
  const error = await failing.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ statusCode: 400 });
  expect(String(error)).toContain("top_p must be");
});
