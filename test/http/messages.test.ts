// How a messages request travels: what decides the status, what is streamed, what is folded, what is counted.

import { describe, expect, test } from "bun:test";
import type { Conversation, Converse } from "../../src/core/agent.ts";
import type { RunEvent } from "../../src/core/run.ts";
import { chatBody, messagesBody, responsesBody, testApp } from "../helpers/app.ts";
import { foldMessages } from "../helpers/fold-messages.ts";
import { ACCEPTED, answer, byHand, end, FINISH, playing, text } from "../helpers/run-events.ts";
import { parseSse } from "../helpers/sse.ts";

const MESSAGES = "/v1/messages";
const COUNT = "/v1/messages/count_tokens";
const STREAM = messagesBody({ stream: true });

test("the request reaches generate and the answer comes back whole", async () => {
  const { generate, requests } = playing(answer("Hel", "lo"));
  const response = await testApp(generate).post(`${MESSAGES}?beta=true`, messagesBody({ temperature: 0 }));
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toStartWith("application/json");
  expect(await response.json()).toEqual({
    id: expect.stringMatching(/^msg_[0-9A-Za-z]{24}$/),
    type: "message",
    role: "assistant",
    model: "tiny", // the default model's id stands for "default"
    content: [{ type: "text", text: "Hello" }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: {
      input_tokens: 12,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 8,
      output_tokens_details: { thinking_tokens: 2 },
    },
  });
  expect(requests).toMatchObject([{ model: "default", maxTokens: 64, sampling: { temperature: 0 } }]);
});

test("headers of clients of this dialect are accepted, whatever they say", async () => {
  const headers = {
    "content-type": "application/json",
    "x-api-key": "k",
    authorization: "Bearer t",
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "a-2025-01-01,b",
    "msgapi-version": "x",
    "msgapi-beta": "y",
  };
  const init = { method: "POST", headers, body: JSON.stringify(messagesBody()) };
  expect((await testApp().request(MESSAGES, init)).status).toBe(200);
});

describe("errors", () => {
  test("a prompt that is too long is told so that agents compact it, without fields of others", async () => {
    const message = "The prompt is too long: 9000 tokens > 4096, which the model's context holds.";
    const error: RunEvent = { type: "error", error: { code: "context_length_exceeded", message } };
    const { generate } = playing([error]);
    const told = async (path: string, body: unknown) =>
      (await (await testApp(generate).post(path, body)).json()).error.message;
    expect(await told(MESSAGES, messagesBody())).toMatch(/prompt is too long: 9000 tokens > 4096.*; compact/);
    expect(await told(MESSAGES, messagesBody())).not.toContain("truncat");
    expect(await told("/v1/chat/completions", chatBody())).toContain("truncate_sequence: true");
    expect(await told("/v1/responses", responsesBody())).toContain('truncation: "auto"');
  });

  test("after accepted are an event of the stream, its last", async () => {
    const error: RunEvent = { type: "error", error: { code: "engine_failed", message: "it died" } };
    const app = testApp(playing([ACCEPTED, text("Hi"), error]).generate);
    const { events } = parseSse(await (await app.post(MESSAGES, STREAM)).text());
    expect(events.at(-1)?.event).toBe("error");
    expect(JSON.parse(events.at(-1)?.data ?? "")).toEqual({
      type: "error",
      error: { type: "server_error", message: "it died", code: "engine_failed" },
    });
    expect((await app.post(MESSAGES, messagesBody())).status).toBe(500);
  });
});

test("pings come with the comments while a run is silent", async () => {
  const runs = byHand();
  const pending = testApp(runs.generate, { keepAliveMs: 5 }).post(MESSAGES, STREAM);
  const run = await runs.next();
  run.emit(ACCEPTED, text("a"));
  const reader = (await pending).body?.pipeThrough(new TextDecoderStream()).getReader();
  let seen = "";
  const readOn = async () => {
    const next = await reader?.read();
    seen += next?.value ?? "";
    return next?.done === false;
  };
  while (parseSse(seen).comments.length < 2) await readOn();
  run.emit(text("b"), end(), FINISH);
  while (await readOn());
  const { comments, events } = parseSse(seen);
  const pings = events.filter(({ event }) => event === "ping");
  expect(pings.length).toBe(comments.length);
  expect(new Set(pings.map(({ data }) => data))).toEqual(new Set(['{"type":"ping"}']));
  expect(foldMessages(seen).content).toEqual([{ type: "text", text: "ab" }]);
});

describe("count_tokens", () => {
  test("asks for a run that only counts and tells its prompt's tokens", async () => {
    const { generate, requests } = playing([ACCEPTED, FINISH]);
    const response = await testApp(generate).post(COUNT, messagesBody({ stream: true }));
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ input_tokens: 12 });
    expect(requests).toMatchObject([{ countOnly: true }]);
  });

  test("is prepared like an answer, by whoever answers", async () => {
    let asked: Conversation | undefined;
    async function* converse(conversation: Conversation): AsyncGenerator<RunEvent> {
      asked = conversation;
      yield { type: "accepted", promptTokens: 99 };
    }
    const app = testApp(undefined, { converse: converse satisfies Converse });
    const response = await app.post(COUNT, messagesBody({ enable_code_execution: true }));
    expect(await response.json()).toEqual({ input_tokens: 99 });
    expect(asked?.agent.python).toBe(true);
  });

  test("lets go of the run at once", async () => {
    const runs = byHand();
    const pending = testApp(runs.generate).post(COUNT, messagesBody());
    const run = await runs.next();
    run.emit(ACCEPTED);
    await run.closed;
    expect(run.signal.aborted).toBe(true);
    expect(await (await pending).json()).toEqual({ input_tokens: 12 });
  });
});
