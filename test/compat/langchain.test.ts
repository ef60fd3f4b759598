// LangChain's classes over the official client.

import { beforeAll, describe, expect, test } from "bun:test";
import { HumanMessage, type MessageContent, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { z } from "zod";
import { STRUCTURED, TOOL_ARGS } from "../helpers/fake-model.ts";
import { fakeServer } from "../helpers/listening.ts";

const server = fakeServer();
const common = () => ({
  model: "tiny",
  apiKey: "any",
  maxRetries: 0,
  configuration: { baseURL: server.baseUrl() },
});

let chat: ChatOpenAI;
beforeAll(() => {
  chat = new ChatOpenAI(common());
});

const weather = tool(async ({ city }) => `sunny in ${city}`, {
  name: "weather",
  description: "Says the weather of a city.",
  schema: z.object({ city: z.string() }),
});

/** All text of streamed messages. */
const joined = (chunks: readonly { readonly content: MessageContent }[]) =>
  chunks.map(({ content }) => (typeof content === "string" ? content : "")).join("");

describe("chat", () => {
  test("whole, with token counts", async () => {
    const { content, usage_metadata } = await chat.invoke("Hi");
    expect(content).toBe("You said Hi");
    expect(usage_metadata).toMatchObject({ input_tokens: 12, output_tokens: 8, total_tokens: 20 });
  });

  test("streamed", async () => {
    expect(joined(await Array.fromAsync(await chat.stream("Hi")))).toBe("You said Hi");
  });

  test("log probabilities", async () => {
    const rated = new ChatOpenAI({ ...common(), logprobs: true, topLogprobs: 1 });
    const { response_metadata } = await rated.invoke("Hi");
    expect(response_metadata["logprobs"]).toMatchObject({ content: [{ token: "You " }, {}, {}] });
  });
});

describe("tools", () => {
  test("whole: the call is executed and its result used", async () => {
    const bound = chat.bindTools([weather]);
    const question = new HumanMessage("the weather?");
    const asked = await bound.invoke([question]);
    expect(asked.tool_calls).toMatchObject([{ name: "weather", args: TOOL_ARGS, id: "call_0" }]);
    const [call] = asked.tool_calls ?? [];
    if (call === undefined) throw new Error("no call");
    const told = new ToolMessage({
      content: await weather.invoke(TOOL_ARGS),
      tool_call_id: call.id ?? "",
    });
    const { content } = await bound.invoke([question, asked, told]);
    expect(content).toBe(`The tool says sunny in ${TOOL_ARGS.city}`);
  });

  test("streamed deltas add up to the call", async () => {
    const chunks = await Array.fromAsync(await chat.bindTools([weather]).stream("the weather?"));
    const [first, ...rest] = chunks;
    if (first === undefined) throw new Error("no chunks");
    const whole = rest.reduce((sum, chunk) => sum.concat(chunk), first);
    expect(whole.tool_calls).toMatchObject([{ name: "weather", args: TOOL_ARGS, id: "call_0" }]);
  });

  test.each([
    ["weather", { type: "named", names: ["weather"], required: true }],
    ["any", { type: "required" }],
  ])("choice %s", async (tool_choice, toolChoice) => {
    await chat.bindTools([weather], { tool_choice }).invoke("Hi");
    expect(server.lastRequest()?.prompt).toMatchObject({ toolChoice });
  });
});

describe("structured output", () => {
  const Person = z.object({ name: z.string(), age: z.number() });

  test("by schema", async () => {
    const typed = chat.withStructuredOutput(Person, { method: "jsonSchema", name: "person" });
    expect(await typed.invoke("Who?")).toEqual(STRUCTURED);
    expect(server.lastRequest()?.constraint).toMatchObject({ type: "json_schema" });
  });

  test("by tool", async () => {
    const schema = z.object({ city: z.string() });
    const typed = chat.withStructuredOutput(schema, { method: "functionCalling", name: "place" });
    expect(await typed.invoke("Where?")).toEqual(TOOL_ARGS);
  });
});

test("completions", async () => {
  const llm = new OpenAI({ ...common(), maxTokens: 5 });
  expect(await llm.invoke("Once")).toBe(" and so on");
  expect((await Array.fromAsync(await llm.stream("Once"))).join("")).toBe(" and so on");
  const { generations } = await llm.generate(["Once", "Twice"]);
  expect(generations.map(([one]) => one?.text)).toEqual([" and so on", " and so on"]);
});

test("embeddings", async () => {
  const embeddings = new OpenAIEmbeddings(common());
  expect(await embeddings.embedDocuments(["a", "bcd"])).toEqual([
    [0, 1],
    [1, 3],
  ]);
  expect(await embeddings.embedQuery("ab")).toEqual([0, 2]);
});
