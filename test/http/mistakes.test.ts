// Mistakes of a tired user over HTTP: each is answered with the spec's error object, the field at fault, and the fix.

import { describe, expect, test } from "bun:test";
import { testApp } from "../helpers/app.ts";
import { fakeModel } from "../helpers/fake-model.ts";

const { request } = testApp(fakeModel().generate);
const CHAT = "/v1/chat/completions";
const messages = [{ role: "user", content: "Hi" }];

interface Mistake {
  readonly path?: string;
  readonly method?: string;
  readonly body?: unknown;
  readonly text?: string;
  readonly type?: string;
  /** Status, field, and words of what is wrong or how to fix it. */
  readonly answer: readonly [status: number, param: string | undefined, words: RegExp];
}

const MISTAKES: Readonly<Record<string, Mistake>> = {
  "no /v1": {
    path: "/chat/completions",
    body: { messages },
    answer: [404, undefined, /use \/v1\/chat\/completions/],
  },
  "a wrong word in the path": {
    path: "/v1/chat/completion",
    body: { messages },
    answer: [404, undefined, /completion/],
  },
  "GET instead of POST": { method: "GET", answer: [405, undefined, /POST|GET/] },
  "broken JSON": { text: '{"messages": [', answer: [400, undefined, /JSON/] },
  "no body": { text: "", answer: [400, undefined, /JSON|body|empty/] },
  "a form instead of JSON": {
    text: "a=b",
    type: "application/x-www-form-urlencoded",
    answer: [415, undefined, /application\/json/],
  },
  "no messages": { body: { model: "default" }, answer: [400, "messages", /messages/] },
  "messages as a number": { body: { messages: 5 }, answer: [400, "messages", /array|list/] },
  "no messages in the list": { body: { messages: [] }, answer: [400, "messages", /messages/] },
  "prompt instead of messages": { body: { prompt: "Hi" }, answer: [400, "messages", /messages/] },
  "an unknown role": {
    body: { messages: [{ role: "bot", content: "Hi" }] },
    answer: [400, "messages[0].role", /user/],
  },
  "a content of no part": {
    body: { messages: [{ role: "user", content: 5 }] },
    answer: [400, "messages[0].content", /content/],
  },
  "an unknown model": {
    path: "/v1/models/gpt-9",
    method: "GET",
    answer: [404, "id", /gpt-9.*GET \/v1\/models/],
  },
  "a temperature of 3": { body: { messages, temperature: 3 }, answer: [400, "temperature", /2/] },
  "a temperature as text": { body: { messages, temperature: "0.5" }, answer: [400, "temperature", /number/] },
  "max_tokens of 0": { body: { messages, max_tokens: 0 }, answer: [400, "max_tokens", /1/] },
  "stream as text": { body: { messages, stream: "true" }, answer: [400, "stream", /boolean|true/] },
  "a tool without a name": {
    body: { messages, tools: [{ type: "function", function: {} }] },
    answer: [400, "tools[0].function.name", /name/],
  },
  "a choice without tools": {
    body: { messages, tool_choice: "required" },
    answer: [400, "tool_choice", /tool/],
  },
  json_object: {
    body: { messages, response_format: { type: "json_object" } },
    answer: [400, "response_format.type", /json_schema|compat/],
  },
  "an image for a text model": {
    body: {
      messages: [
        { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } }] },
      ],
    },
    answer: [400, "messages[0].content[0]", /image/],
  },
  "an unknown file": { path: "/v1/files/file-1", method: "GET", answer: [404, undefined, /file-1/] },
  "no input": { path: "/v1/responses", body: { model: "default" }, answer: [400, "input", /input/] },
  "no max_tokens of messages": {
    path: "/v1/messages",
    body: { model: "default", messages: [] },
    answer: [400, "messages", /messages/],
  },
};

describe("HTTP", () => {
  test.each(Object.entries(MISTAKES))("%s", async (_, mistake) => {
    const { path = CHAT, method = "POST", body, text, type = "application/json" } = mistake;
    const sent = text ?? (body === undefined ? undefined : JSON.stringify(body));
    const init = { method, headers: { "content-type": type }, ...(sent === undefined ? {} : { body: sent }) };
    const response = await request(path, init);
    const { error } = (await response.json()) as {
      error: { message: string; code: string; type: string; param?: string };
    };
    const [status, param, words] = mistake.answer;
    expect([response.status, error.param ?? undefined]).toEqual([status, param]);
    expect(error.message).toMatch(words);
    expect([typeof error.code, typeof error.type]).toEqual(["string", "string"]);
    expect(error.message.length).toBeGreaterThan(15);
  });
});
