// Pictures and recordings as official clients send them, against a listening server with a fake model that takes both.

import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { generateText, type ModelMessage } from "ai";
import { BadRequestError, type OpenAI, toFile } from "openai";
import { ANY_MEDIA } from "../../src/core/media.ts";
import { messagesOf } from "../helpers/agent.ts";
import { rejection } from "../helpers/failure.ts";
import { fakeServer } from "../helpers/listening.ts";
import { png, wav } from "../helpers/media-bytes.ts";
import { aiSdk } from "../helpers/official/ai-sdk.ts";
import { openAi } from "../helpers/official/openai.ts";

const server = fakeServer(undefined, ANY_MEDIA);
const blind = fakeServer();

const image = png(6, 6).toBase64();
const url = `data:image/png;base64,${image}`;
const audio = wav(0.1).toBase64();
const SEEN = { type: "image", data: image } as const;
const HEARD = { type: "audio", data: audio } as const;

/** The media of the last request, in the order of the conversation. */
function arrived() {
  return messagesOf(server.lastRequest()).flatMap(({ content }) =>
    content.filter(({ type }) => type !== "text"),
  );
}

describe("openai", () => {
  let client: OpenAI;
  beforeAll(() => {
    client = openAi(server.baseUrl());
  });

  const chat: OpenAI.ChatCompletionMessageParam[] = [
    {
      role: "user",
      content: [
        { type: "text", text: "both?" },
        { type: "image_url", image_url: { url, detail: "high" } },
        { type: "input_audio", input_audio: { data: audio, format: "wav" } },
      ],
    },
  ];

  test("chat completions", async () => {
    const { choices } = await client.chat.completions.create({ model: "tiny", messages: chat });
    expect(choices[0]?.message.content).toBe("You said both?");
    expect(arrived()).toEqual([SEEN, HEARD]);
  });

  test("a model that takes none is a bad request, also of a stream", async () => {
    const error = await rejection(
      openAi(blind.baseUrl()).chat.completions.create({ model: "tiny", messages: chat, stream: true }),
    );
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ code: "unsupported_capability", param: "messages[0].content[1]" });
  });

  test("responses, by data URL and by an uploaded file, in a chain", async () => {
    const file = await client.files.create({
      file: await toFile(png(2, 2), "a.png"),
      purpose: "user_data",
    });
    const content: OpenAI.Responses.ResponseInputContent[] = [
      { type: "input_text", text: "both?" },
      { type: "input_image", image_url: url, detail: "auto" },
      { type: "input_image", file_id: file.id, detail: "auto" },
    ];
    const first = await client.responses.create({ model: "tiny", input: [{ role: "user", content }] });
    expect(first.output_text).toBe("You said both?");
    const both = [SEEN, { type: "image" as const, data: png(2, 2).toBase64() }];
    expect(arrived()).toEqual(both);
    await client.responses.create({ model: "tiny", input: "and?", previous_response_id: first.id });
    expect(arrived()).toEqual(both);
  });

  test("responses: what a function answers may be an image", async () => {
    const call = { type: "function_call", call_id: "c", name: "plot", arguments: "{}" } as const;
    const output = [{ type: "input_image", image_url: url } as const];
    await client.responses.create({
      model: "tiny",
      input: [call, { type: "function_call_output", call_id: "c", output }],
    });
    expect(arrived()).toEqual([SEEN]);
    expect(messagesOf(server.lastRequest()).at(-1)?.role).toBe("tool");
  });
});

describe("anthropic", () => {
  let client: Anthropic;
  beforeEach(() => {
    const baseURL = server.baseUrl().replace(/\/v1$/, "");
    client = new Anthropic({ apiKey: "any", baseURL, maxRetries: 0 });
  });

  const block: Anthropic.ImageBlockParam = {
    type: "image",
    source: { type: "base64", media_type: "image/png", data: image },
  };

  test("messages, and the count of their tokens", async () => {
    const messages: Anthropic.MessageParam[] = [
      { role: "user", content: [block, { type: "text", text: "what?" }] },
    ];
    const answer = await client.messages.create({ model: "tiny", max_tokens: 64, messages });
    expect(answer.content).toMatchObject([{ type: "text", text: "You said what?" }]);
    expect(arrived()).toEqual([SEEN]);
    await client.messages.countTokens({ model: "tiny", messages });
    expect(server.lastRequest()?.countOnly).toBe(true);
    expect(arrived()).toEqual([SEEN]);
  });

  test("the result of a tool", async () => {
    await client.messages.create({
      model: "tiny",
      max_tokens: 64,
      messages: [
        { role: "user", content: "plot" },
        { role: "assistant", content: [{ type: "tool_use", id: "c", name: "plot", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: [block] }] },
      ],
    });
    expect(messagesOf(server.lastRequest()).at(-1)).toMatchObject({ role: "tool", content: [SEEN] });
  });
});

describe("ai sdk", () => {
  const messages: ModelMessage[] = [
    {
      role: "user",
      content: [
        { type: "text", text: "what?" },
        { type: "image", image: png(6, 6) },
      ],
    },
  ];

  test("in chat completions", async () => {
    const { text } = await generateText({ model: aiSdk(server.baseUrl())("tiny"), messages, maxRetries: 0 });
    expect(text).toBe("You said what?");
    expect(arrived()).toEqual([SEEN]);
  });

  test("in messages", async () => {
    const provider = createAnthropic({ apiKey: "any", baseURL: server.baseUrl() });
    await generateText({ model: provider("tiny"), messages, maxRetries: 0 });
    expect(arrived()).toEqual([SEEN]);
  });
});
