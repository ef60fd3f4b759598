// Who is let in, before anything of a body has been read.

import { expect, test } from "bun:test";
import { Admission, type AdmissionOptions } from "../../src/http/admission.ts";
import { ApiKeys } from "../../src/http/api-keys.ts";
import { testApp } from "../helpers/app.ts";
import { answer, playing } from "../helpers/run-events.ts";
import { until } from "../helpers/until.ts";

function admissionOf(options: Partial<AdmissionOptions> = {}): Admission {
  return new Admission({
    addressOf: (_, headers) => headers.get("x-client") ?? "somebody",
    placesOf: () => 2,
    isCrowded: () => false,
    ...options,
  });
}

const CHAT = JSON.stringify({ messages: [{ role: "user", content: "Hi" }] });

/** A body that never ends. */
const endless = (): ReadableStream => new ReadableStream({ start: (body) => body.enqueue(Buffer.from("{")) });

const post = (body: string | ReadableStream, client = "greedy"): RequestInit => ({
  method: "POST",
  body,
  headers: { "content-type": "application/json", "x-client": client },
});

test("a request too many is refused without its body; a client with less than its share is not", async () => {
  const { request } = testApp(playing(answer("Hi")).generate, { admission: admissionOf() });
  void request("/v1/chat/completions", post(endless()));
  void request("/v1/chat/completions", post(endless()));
  const refused = await request("/v1/chat/completions", post(endless()));
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(refused.headers.get("access-control-allow-origin")).toBe("*");
  expect(refused.headers.get("x-request-id")).not.toBeNull();
  expect(await refused.json()).toMatchObject({ error: { code: "queue_full", type: "rate_limit_error" } });
  expect((await request("/v1/chat/completions", post(CHAT, "light"))).status).toBe(200);
  expect((await request("/v1/models")).status).toBe(200);
  const dialect = await request("/v1/messages", post(endless()));
  expect(await dialect.json()).toMatchObject({ type: "error" });
});

test("places are given back, however a request ends", async () => {
  const { request } = testApp(playing(answer("Hi")).generate, { admission: admissionOf() });
  const bodies = [
    CHAT,
    "{",
    JSON.stringify({ messages: 1 }),
    JSON.stringify({ ...JSON.parse(CHAT), stream: true }),
  ];
  for (let round = 0; round < 3; round++) {
    const answers = bodies.map((body) => async () => {
      const response = await request("/v1/chat/completions", post(body));
      await response.text();
      return response.status;
    });
    const statuses: number[] = [];
    for (const ask of answers) statuses.push(await ask());
    expect(statuses).toEqual([200, 400, 400, 200]);
  }
});

test("bodies that take their time keep others out for a second at most", async () => {
  const { request } = testApp(playing(answer("Hi")).generate, { admission: admissionOf() });
  void request("/v1/chat/completions", post(endless()));
  void request("/v1/chat/completions", post(endless()));
  await until(
    "one is let in",
    async () => (await request("/v1/chat/completions", post(CHAT))).status === 200,
  );
});

test("many at once begin in lots, all of them", async () => {
  const admission = admissionOf({ placesOf: () => 1000 });
  const { request } = testApp(playing(answer("Hi")).generate, { admission });
  const all = Array.from({ length: 100 }, () => request("/v1/chat/completions", post(CHAT)));
  expect(new Set((await Promise.all(all)).map(({ status }) => status))).toEqual(new Set([200]));
});

test("where keys are needed, a client is its key; one without is refused as such", async () => {
  const keys = new ApiKeys(["a", "b"]);
  const admission = admissionOf({ keys, placesOf: () => 2 });
  const { request } = testApp(playing(answer("Hi")).generate, { admission, apiKeys: keys });
  const ask = (key: string, body: string | ReadableStream): Promise<Response> =>
    request("/v1/chat/completions", { method: "POST", body, headers: { "x-api-key": key } });
  void ask("a", endless());
  void ask("a", endless());
  const statuses = await Promise.all([ask("a", CHAT), ask("b", CHAT), ask("wrong", CHAT)]);
  expect(statuses.map(({ status }) => status)).toEqual([429, 200, 401]);
});

test("too many connections: 503, and the connection is closed; probes are answered", async () => {
  const { request } = testApp(undefined, { admission: admissionOf({ isCrowded: () => true }) });
  const refused = await request("/v1/models");
  expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("connection")]).toEqual([
    503,
    "1",
    "close",
  ]);
  expect(await refused.json()).toMatchObject({ error: { code: "too_many_connections" } });
  expect((await request("/health")).status).toBe(200);
});
