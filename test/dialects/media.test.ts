// Conversion of images and audio in the request bodies of all dialects.

import { describe, expect, test } from "bun:test";
import { parseChatRequest } from "../../src/dialects/chat/request.ts";
import { parseMessagesRequest } from "../../src/dialects/messages/request.ts";
import { parseResponsesRequest, type StoredResponses } from "../../src/dialects/responses/request.ts";
import { chatBody, messagesBody, responsesBody } from "../helpers/app.ts";

const NOTHING_STORED: StoredResponses = {
  conversation: () => {
    throw new Error("no stored response is used here");
  },
  item: () => undefined,
};

const media = (modality: string, source: object, param: string) => ({
  type: "media",
  modality,
  source,
  param,
});
const inline = (data: string) => ({ type: "inline", data });
const remote = (url: string) => ({ type: "remote", url });

const URL_OF_DATA = "data:image/png;base64,AAAA";

describe("chat", () => {
  const at = "messages[0].content[0]";
  test.each([
    [{ type: "image_url", image_url: { url: URL_OF_DATA, detail: "low" } }, "image", inline(URL_OF_DATA)],
    [{ type: "image_url", image_url: "AAAA" }, "image", inline("AAAA")],
    [{ type: "image_url", image_url: { url: "https://a.b/c" } }, "image", remote("https://a.b/c")],
    [{ type: "image_url", image_url: { url: "FILE:///etc/passwd" } }, "image", remote("FILE:///etc/passwd")],
    [{ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }, "audio", inline("AAAA")],
    [{ type: "audio_url", audio_url: { url: "http://a.b/c.mp3" } }, "audio", remote("http://a.b/c.mp3")],
    [{ type: "video_url", video_url: { url: "https://a.b/c.mp4" } }, "video", remote("https://a.b/c.mp4")],
    [{ type: "video_url", video_url: "data:video/mp4;base64,A" }, "video", inline("data:video/mp4;base64,A")],
    [{ type: "input_video", input_video: { data: "AAAA" } }, "video", inline("AAAA")],
    [{ type: "input_video", input_video: { url: "http://a.b/c" } }, "video", remote("http://a.b/c")],
  ])("%j", (part, modality, source) => {
    const body = chatBody({ messages: [{ role: "user", content: [part, { type: "text", text: "?" }] }] });
    const [message] = parseChatRequest(body).run.prompt.messages;
    expect<object | undefined>(message?.content).toEqual([
      media(modality, source, at),
      { type: "text", text: "?" },
    ]);
  });
});

describe("responses", () => {
  const parsed = (input: readonly unknown[]) =>
    parseResponsesRequest(responsesBody({ input }), NOTHING_STORED).run.prompt.messages;
  const at = "input[0].content[0]";
  test.each([
    [{ type: "input_image", image_url: URL_OF_DATA, detail: "auto" }, "image", inline(URL_OF_DATA)],
    [{ type: "input_image", file_id: "file-1" }, "image", { type: "stored", id: "file-1" }],
    [{ type: "input_image", image_url: "https://a.b/c", file_id: null }, "image", remote("https://a.b/c")],
    [{ type: "input_audio", data: "AAAA", format: "wav" }, "audio", inline("AAAA")],
    [{ type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } }, "audio", inline("AAAA")],
    [{ type: "input_video", video_url: "https://a.b/c.webm" }, "video", remote("https://a.b/c.webm")],
    [{ type: "input_video", data: "AAAA" }, "video", inline("AAAA")],
    [{ type: "input_video", file_id: "file-1", video_url: null }, "video", { type: "stored", id: "file-1" }],
  ])("%j", (part, modality, source) => {
    const [message] = parsed([{ role: "user", content: [part] }]);
    expect<object | undefined>(message?.content).toEqual([media(modality, source, at)]);
  });

  test("the output of a function may contain images", () => {
    const output = [
      { type: "input_text", text: "the plot:" },
      { type: "input_image", image_url: URL_OF_DATA },
    ];
    const [, result] = parsed([
      { type: "function_call", call_id: "c", name: "plot", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output },
    ]);
    expect<object | undefined>(result).toEqual({
      role: "tool",
      name: "plot",
      toolCallId: "c",
      content: [
        { type: "text", text: "the plot:" },
        media("image", inline(URL_OF_DATA), "input[1].output[1]"),
      ],
    });
  });
});

describe("messages", () => {
  const parsed = (content: readonly unknown[]) =>
    parseMessagesRequest(messagesBody({ messages: [{ role: "user", content }] })).run.prompt.messages;
  const image = (source: object) => ({ type: "image", source });

  test.each([
    [{ type: "base64", media_type: "image/png", data: "AAAA" }, inline("AAAA")],
    [{ type: "url", url: "https://a.b/c" }, remote("https://a.b/c")],
    [
      { type: "file", file_id: "file-1" },
      { type: "stored", id: "file-1" },
    ],
  ])("%j", (sent, source) => {
    const [message] = parsed([image(sent), { type: "text", text: "?" }]);
    const part = media("image", source, "messages[0].content[0]");
    expect<object | undefined>(message?.content).toEqual([part, { type: "text", text: "?" }]);
  });

  test("a tool result may contain images", () => {
    const content = [{ type: "text", text: "the plot:" }, image({ type: "base64", data: "AAAA" })];
    const [result] = parsed([{ type: "tool_result", tool_use_id: "c", content }]);
    expect<object | undefined>(result).toEqual({
      role: "tool",
      toolCallId: "c",
      content: [
        { type: "text", text: "the plot:" },
        media("image", inline("AAAA"), "messages[0].content[0].content[1]"),
      ],
    });
  });
});
