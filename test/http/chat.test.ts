// How a chat request travels: what decides the status, what is streamed, what is folded.

import { expect, test } from "bun:test";
import { ServiceError } from "../../src/core/error.ts";
import type { RunEvent } from "../../src/core/run.ts";
import { chatBody, testApp } from "../helpers/app.ts";
import { ACCEPTED, answer, byHand, playing, text } from "../helpers/run-events.ts";
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
