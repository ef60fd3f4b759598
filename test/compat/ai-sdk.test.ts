// What the AI SDK alone does, with each of its providers; what it has in common with the others is in clients.test.ts.

import { describe, expect, test } from "bun:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, type LanguageModel, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { messagesOf } from "../helpers/agent.ts";
import { STRUCTURED, TOOL_ARGS } from "../helpers/fake-model.ts";
import { fakeServer } from "../helpers/listening.ts";
import { aiSdk } from "../helpers/official/ai-sdk.ts";

const server = fakeServer();
const prompt = "the weather?";
const tools = {
  weather: tool({
    description: "Says the weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `sunny in ${city}`,
  }),
};
const TOLD = `The tool says sunny in ${TOOL_ARGS.city}`;

const responses = () => createOpenAI({ baseURL: server.baseUrl(), apiKey: "any" }).responses("tiny");

describe.each<[string, () => LanguageModel, string]>([
  ["chat", () => aiSdk(server.baseUrl())("tiny"), "I need a tool."],
  ["Responses", responses, ""], // the SDK shows reasoning only where it is encrypted
  ["Messages", () => createAnthropic({ baseURL: server.baseUrl(), apiKey: "any" })("tiny"), "I need a tool."],
])("%s", (_, model, reasoning) => {
  const asked = () => ({ model: model(), prompt, tools, stopWhen: stepCountIs(2), maxRetries: 0 });

  test("the steps are there: the call, the reasoning before it, and what was made of its result", async () => {
    const { text, steps } = await generateText(asked());
    expect(steps[0]?.reasoningText ?? "").toBe(reasoning);
    expect(steps[0]?.toolCalls).toMatchObject([{ toolName: "weather", input: TOOL_ARGS }]);
    expect(text).toBe(TOLD);
    expect(messagesOf(server.lastRequest())).toMatchObject([
      { role: "user" },
      { role: "assistant", toolCalls: [{ name: "weather" }], ...(reasoning === "" ? {} : { reasoning }) },
      { role: "tool", content: [{ text: "sunny in Zürich" }] },
    ]);
  });

  test("streamed bit by bit", async () => {
    const parts = await Array.fromAsync(streamText(asked()).fullStream);
    const joined = (type: string) =>
      parts.flatMap((part) => (part.type === type && "text" in part ? [part.text] : [])).join("");
    expect(parts.filter(({ type }) => type === "error")).toEqual([]);
    expect([joined("reasoning-delta"), joined("text-delta")]).toEqual([reasoning, TOLD]);
    const deltas = parts.flatMap((part) => (part.type === "tool-input-delta" ? [part.delta] : []));
    expect(JSON.parse(deltas.join(""))).toEqual(TOOL_ARGS);
    expect(deltas.length).toBeGreaterThan(5);
  });

  test("an error has its status and message", async () => {
    const failing = generateText({ model: model(), prompt, topP: 9, maxRetries: 0 });
    const error: unknown = await failing.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ statusCode: 400 });
    expect(String(error)).toContain("top_p must be");
  });

  test("the choice is passed on", async () => {
    const toolChoice = { type: "tool", toolName: "weather" } as const;
    await generateText({ model: model(), prompt, tools, toolChoice, maxRetries: 0 });
    expect(server.lastRequest()?.prompt).toMatchObject({
      toolChoice: { type: "named", names: ["weather"], required: true },
    });
  });
});

test("structured output by a schema of zod", async () => {
  const output = Output.object({ schema: z.object({ name: z.string(), age: z.number() }) });
  const result = await generateText({ model: responses(), prompt, output, maxRetries: 0 });
  expect(result.output).toEqual(STRUCTURED);
  expect(server.lastRequest()?.constraint).toMatchObject({ type: "json_schema", schema: { type: "object" } });
});

test("without stored responses the items themselves are sent", async () => {
  const providerOptions = { openai: { store: false } };
  const model = responses();
  const asked = { model, prompt, tools, stopWhen: stepCountIs(2), providerOptions, maxRetries: 0 };
  const { text, response } = await generateText(asked);
  expect(text).toBe(TOLD);
  expect(response.id).toStartWith("resp_");
});
