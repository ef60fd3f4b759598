// What LangChain alone does; what it has in common with the others is in clients.test.ts.

import { beforeAll, describe, expect, test } from "bun:test";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { z } from "zod";
import { STRUCTURED, TOOL_ARGS } from "../helpers/fake-model.ts";
import { fakeServer } from "../helpers/listening.ts";
import { langChainFields } from "../helpers/official/langchain.ts";

const server = fakeServer();
const fields = () => langChainFields(server.baseUrl());

let chat: ChatOpenAI;
beforeAll(() => {
  chat = new ChatOpenAI(fields());
});

test("log probabilities", async () => {
  const rated = new ChatOpenAI({ ...fields(), logprobs: true, topLogprobs: 1 });
  const { response_metadata } = await rated.invoke("Hi");
  expect(response_metadata["logprobs"]).toMatchObject({ content: [{ token: "You " }, {}, {}] });
});

test.each([
  ["weather", { type: "named", names: ["weather"], required: true }],
  ["any", { type: "required" }],
])("the choice of tools: %s", async (tool_choice, toolChoice) => {
  const weather = tool(async () => "sunny", {
    name: "weather",
    description: "Says the weather of a city.",
    schema: z.object({ city: z.string() }),
  });
  await chat.bindTools([weather], { tool_choice }).invoke("Hi");
  expect(server.lastRequest()?.prompt).toMatchObject({ toolChoice });
});

describe("structured output", () => {
  test("by a schema of zod", async () => {
    const Person = z.object({ name: z.string(), age: z.number() });
    const typed = chat.withStructuredOutput(Person, { method: "jsonSchema", name: "person" });
    expect(await typed.invoke("Who?")).toEqual(STRUCTURED);
    expect(server.lastRequest()?.constraint).toMatchObject({ type: "json_schema" });
  });

  test("by a tool", async () => {
    const schema = z.object({ city: z.string() });
    const typed = chat.withStructuredOutput(schema, { method: "functionCalling", name: "place" });
    expect(await typed.invoke("Where?")).toEqual(TOOL_ARGS);
  });
});

test("several prompts at once", async () => {
  const { generations } = await new OpenAI(fields()).generate(["Once", "Twice"]);
  expect(generations.map(([one]) => one?.text)).toEqual([" and so on", " and so on"]);
});

test("one text to embed", async () => {
  expect(await new OpenAIEmbeddings(fields()).embedQuery("ab")).toEqual([0, 2]);
});
