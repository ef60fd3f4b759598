// What the AI SDK alone does; what it has in common with the others is in clients.test.ts.

import { beforeAll, describe, expect, test } from "bun:test";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { STRUCTURED, TOOL_ARGS } from "../helpers/fake-model.ts";
import { fakeServer } from "../helpers/listening.ts";
import { aiSdk } from "../helpers/official/ai-sdk.ts";

const server = fakeServer();
let provider: ReturnType<typeof aiSdk>;
beforeAll(() => {
  provider = aiSdk(server.baseUrl());
});

const prompt = "the weather?";
const tools = {
  weather: tool({
    description: "Says the weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `sunny in ${city}`,
  }),
};

describe("tools", () => {
  test("both steps are there: the call and what was made of its result", async () => {
    const { text, steps } = await generateText({
      model: provider("tiny"),
      prompt,
      tools,
      stopWhen: stepCountIs(2),
      maxRetries: 0,
    });
    expect(steps[0]?.toolCalls).toMatchObject([{ toolName: "weather", input: TOOL_ARGS }]);
    expect(text).toBe(`The tool says sunny in ${TOOL_ARGS.city}`);
  });

  test("streamed bit by bit, with reasoning before", async () => {
    const result = streamText({ model: provider("tiny"), prompt, tools, maxRetries: 0 });
    const parts = await Array.fromAsync(result.fullStream);
    const reasoning = parts.flatMap((part) => (part.type === "reasoning-delta" ? [part.text] : []));
    expect(reasoning.join("")).toBe("I need a tool.");
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

test("structured output by a schema of zod", async () => {
  const output = Output.object({ schema: z.object({ name: z.string(), age: z.number() }) });
  const result = await generateText({ model: provider("tiny"), prompt, output, maxRetries: 0 });
  expect(result.output).toEqual(STRUCTURED);
  expect(server.lastRequest()?.constraint).toMatchObject({ type: "json_schema", schema: { type: "object" } });
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
