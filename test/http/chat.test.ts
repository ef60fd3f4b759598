// How a chat request travels: what decides the status, what is streamed, what is folded.

import { expect, test } from "bun:test";
import { ServiceError } from "../../src/core/error.ts";
import type { RunEvent } from "../../src/core/run.ts";
import type { ChatCompletionChunkResponse } from "../../src/dialects/chat/schema.ts";
import { chatBody, testApp } from "../helpers/app.ts";
import { foldChunks } from "../helpers/fold-chunks.ts";
import { ACCEPTED, answer, byHand, end, FINISH, playing, text } from "../helpers/run-events.ts";
import { parseDoneStream } from "../helpers/sse.ts";
import { turns } from "../helpers/turns.ts";

const CHAT = "/v1/chat/completions";

test("the request reaches generate and the answer comes back whole", async () => {
  const { generate, requests } = playing(answer("Hel", "lo"));
  const response = await testApp(generate).post(CHAT, chatBody({ temperature: 0 }));
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toStartWith("application/json");
  expect(await response.json()).toMatchObject({
    id: expect.stringMatching(/^chatcmpl-[0-9A-Za-z]{24}$/),
    model: "tiny", // the default model's id stands for "default"
    system_fingerprint: "svc-test",
    choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 12, completion_tokens: 8 },
  });
  expect(requests).toHaveLength(1);
  expect(requests[0]).toMatchObject({ model: "default", sampling: { temperature: 0 } });
});

test("the answer names the model that was asked for", async () => {
  const response = await testApp().post(CHAT, chatBody({ model: "other" }));
  expect(await response.json()).toMatchObject({ model: "other" });
});

test("the stream of a request folds to its body", async () => {
  const events: readonly RunEvent[] = [
    ACCEPTED,
    { type: "reasoning", choice: 0, text: "hm" },
    text("Hé"),
    text("llo 🌍"),
    end("length"),
    FINISH,
  ];
  const app = testApp(playing(events).generate);
  const body = await (await app.post(CHAT, chatBody())).json();
  const response = await app.post(CHAT, chatBody({ stream: true }));
  expect(response.headers.get("content-type")).toStartWith("text/event-stream");
  const chunks = parseDoneStream(await response.text()) as ChatCompletionChunkResponse[];
  const own = { id: expect.any(String), created: expect.any(Number) };
  expect({ ...foldChunks(chunks), ...own }).toEqual({ ...body, ...own });
});

test.each([
  ["model_not_found", 404, "not_found_error"],
  ["context_length_exceeded", 400, "invalid_request_error"],
  ["queue_full", 429, "rate_limit_error"],
  ["model_unavailable", 503, "server_error"],
  ["engine_failed", 500, "server_error"],
] as const)("an error before accepted has a status: %s", async (code, status, type) => {
  const { generate } = playing([{ type: "error", error: { code, message: "why", param: "model" } }]);
  for (const stream of [true, false]) {
    const response = await testApp(generate).post(CHAT, chatBody({ stream }));
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toStartWith("application/json");
    expect(response.headers.has("retry-after")).toBe(status === 429 || status === 503);
    expect(await response.json()).toMatchObject({ error: { code, type, param: "model" } });
  }
});

test("the status waits for accepted", async () => {
  const runs = byHand();
  const pending = testApp(runs.generate).post(CHAT, chatBody({ stream: true }));
  const run = await runs.next();
  const early = await Promise.race([pending, turns().then(() => "none yet")]);
  expect(early).toBe("none yet");
  run.emit(ACCEPTED);
  expect((await pending).status).toBe(200);
});

test("an error after accepted fails a body with its status", async () => {
  const error: RunEvent = { type: "error", error: { code: "engine_failed", message: "the engine died" } };
  const response = await testApp(playing([ACCEPTED, text("Hi"), error]).generate).post(CHAT, chatBody());
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { code: "engine_failed" } });
});

test("a ServiceError thrown by generate keeps its code", async () => {
  const generate = () => {
    throw new ServiceError("queue_full", "too many", { retryAfterSecs: 2.5 });
  };
  const response = await testApp(generate).post(CHAT, chatBody());
  expect(response.status).toBe(429);
  expect(response.headers.get("retry-after")).toBe("3");
});

test("a draining server refuses new runs and still answers the rest", async () => {
  const { generate, requests } = playing(answer("Hi"));
  const app = testApp(generate, { draining: () => true });
  const response = await app.post(CHAT, chatBody());
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toBe("5");
  expect(await response.json()).toMatchObject({ error: { code: "shutting_down", type: "server_error" } });
  expect(requests).toHaveLength(0);
  expect((await app.request("/health")).status).toBe(200);
});

test("a client that leaves ends a run whose answer is not streamed", async () => {
  const runs = byHand();
  const client = new AbortController();
  const app = testApp(runs.generate);
  const pending = app.post(CHAT, chatBody(), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(chatBody()),
    signal: client.signal,
  });
  const run = await runs.next();
  run.emit(ACCEPTED, text("Hi"));
  client.abort();
  await run.closed;
  expect(run.signal.aborted).toBe(true);
  await pending.catch(() => {});
  expect(app.logged).toEqual([]);
});
