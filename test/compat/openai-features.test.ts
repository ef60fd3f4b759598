// What the official client can ask for besides what all clients can (clients.test.ts): its own helpers, log
// probabilities, several prompts, both forms of vectors.

import { beforeAll, describe, expect, test } from "bun:test";
import type OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";
import { defined } from "../../src/core/defined.ts";
import { STRUCTURED, TOOL_ARGS } from "../helpers/fake-model.ts";
import { fakeServer } from "../helpers/listening.ts";
import { openAi } from "../helpers/official/openai.ts";

const server = fakeServer();
let client: OpenAI;
beforeAll(() => {
  client = openAi(server.baseUrl());
});

const messages = [{ role: "user" as const, content: "the weather?" }];
const PARAMETERS = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools: OpenAI.ChatCompletionTool[] = [
  { type: "function", function: { name: "weather", parameters: PARAMETERS, strict: true } },
  { type: "function", function: { name: "time" } },
];
const CALL = { type: "function", function: { name: "weather", arguments: JSON.stringify(TOOL_ARGS) } };

describe("tools", () => {
  test("stream their arguments to the client's own accumulator", async () => {
    const stream = client.chat.completions.stream({ model: "tiny", messages, tools });
    const deltas: string[] = [];
    stream.on("tool_calls.function.arguments.delta", ({ arguments_delta }) => deltas.push(arguments_delta));
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]?.message.tool_calls).toMatchObject([CALL]);
    expect(deltas.filter((delta) => delta !== "")).toEqual(Array.from(JSON.stringify(TOOL_ARGS)));
  });

  test.each<[string, OpenAI.ChatCompletionToolChoiceOption]>([
    ["named", { type: "function", function: { name: "time" } }],
    [
      "allowed_tools",
      {
        type: "allowed_tools",
        allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "time" } }] },
      },
    ],
  ])("can be chosen: %s", async (_, tool_choice) => {
    const { choices } = await client.chat.completions.create({ model: "tiny", messages, tools, tool_choice });
    expect(choices[0]?.message.tool_calls).toMatchObject([{ function: { name: "time" } }]);
  });
});

describe("structured output", () => {
  const Person = z.object({ name: z.string(), age: z.number() });

  test("is parsed by the client's helper", async () => {
    const response_format = zodResponseFormat(Person, "person");
    const { choices } = await client.chat.completions.parse({ model: "tiny", messages, response_format });
    expect(choices[0]?.message.parsed).toEqual(STRUCTURED);
    expect(server.lastRequest()?.constraint).toMatchObject({
      type: "json_schema",
      schema: { type: "object" },
    });
  });
});

test("log probabilities, whole and accumulated from a stream", async () => {
  const asked = { model: "tiny", messages, logprobs: true, top_logprobs: 1, n: 2 };
  const { choices } = await client.chat.completions.create(asked);
  expect(choices).toHaveLength(2);
  const content = choices[1]?.logprobs?.content;
  expect(content?.map(({ token }) => token).join("")).toBe("You said the weather?");
  expect(content?.[0]).toMatchObject({ logprob: -0.25, top_logprobs: [{ token: "You " }] });
  const streamed = await client.chat.completions.stream(asked).finalChatCompletion();
  expect(streamed.choices[1]?.logprobs?.content).toEqual(content ?? []);
});

describe("completions", () => {
  test("several prompts, echoed, with log probabilities", async () => {
    const { choices, usage } = await client.completions.create({
      model: "tiny",
      prompt: ["Once", "Twice"],
      echo: true,
      logprobs: 1,
      n: 2,
      max_tokens: 5,
    });
    expect(choices.map(({ index, text }) => [index, text])).toEqual([
      [0, "Once and so on"],
      [1, "Once and so on"],
      [2, "Twice and so on"],
      [3, "Twice and so on"],
    ]);
    expect(choices[2]?.logprobs).toMatchObject({
      tokens: ["Twice ", "and ", "so ", "on"],
      text_offset: [0, 6, 10, 13],
    });
    expect(usage?.prompt_tokens).toBe(24);
  });

  test("stream", async () => {
    const stream = await client.completions.create({
      model: "tiny",
      prompt: [[1, 2], [3]],
      stream: true,
      stream_options: { include_usage: true },
    });
    const texts = ["", ""];
    let total: number | undefined;
    for await (const { choices, usage } of stream) {
      for (const { index, text } of choices) texts[index] += text;
      total = usage?.total_tokens ?? total;
    }
    expect(texts).toEqual([" and so on", " and so on"]);
    expect(total).toBe(40);
  });
});

test.each(["float", "base64", undefined] as const)("embeddings as %p", async (encoding_format) => {
  const format = defined({ encoding_format });
  const { data, usage } = await client.embeddings.create({ model: "tiny", input: ["a", "bcd"], ...format });
  const vectors = data.map(({ embedding }) => embedding as unknown);
  const base64 = (...floats: readonly number[]) =>
    Buffer.from(Float32Array.from(floats).buffer).toString("base64");
  // Without a format the client asks for base64 and decodes it.
  if (encoding_format === "base64") expect(vectors).toEqual([base64(0, 1), base64(1, 3)]);
  else
    expect(vectors).toEqual([
      [0, 1],
      [1, 3],
    ]);
  expect(usage).toEqual({ prompt_tokens: 4, total_tokens: 4 });
});

describe("images", () => {
  test("in both forms, spelled as the client spells them", async () => {
    const files = await client.images.generate({ prompt: "a cat", n: 2 });
    expect(files.data?.map(({ url }) => url)).toEqual(["/shelf/image-0.png", "/shelf/image-1.png"]);
    const inline = await client.images.generate({
      model: "tiny",
      prompt: "a cat",
      response_format: "b64_json",
    });
    expect(inline.data?.[0]?.b64_json).toStartWith("data:image/png;base64,");
  });

  test("a size of the client's own kind is refused in its words", async () => {
    const asked = client.images.generate({ prompt: "a cat", size: "1024x1024" });
    const refused: unknown = await asked.catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 400, param: "size", code: "unsupported_value" });
  });
});
