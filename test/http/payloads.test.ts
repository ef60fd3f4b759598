// The log of payloads: what each dialect was asked and has answered, without secrets, in a file within its size.

import { describe, expect, test } from "bun:test";
import { readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openPayloadLog } from "../../src/app/payload-log.ts";
import { redacted, redactedEvents, redactedHeaders } from "../../src/http/redact.ts";
import type { Payload } from "../../src/http/payloads.ts";
import { testApp } from "../helpers/app.ts";
import { failure } from "../helpers/failure.ts";
import { answer, playing } from "../helpers/run-events.ts";
import { tempDir } from "../helpers/tmp.ts";
import { until } from "../helpers/until.ts";

const ASKED = [{ role: "user", content: "What is said?" }];
/** A request of each dialect, and what its streams are asked with. */
const REQUESTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "/v1/chat/completions": { messages: ASKED },
  "/v1/completions": { prompt: "What is said?" },
  "/v1/responses": { input: "What is said?" },
  "/v1/messages": { messages: ASKED, max_tokens: 9 },
  "/api/chat": { model: "tiny", messages: ASKED },
  "/api/generate": { model: "tiny", prompt: "What is said?" },
};

async function recorded(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) {
  const seen: Payload[] = [];
  const { request } = testApp(playing(answer("Said.")).generate, { payloads: (one) => void seen.push(one) });
  const init = { method: "POST", headers: { "content-type": "application/json", ...headers } };
  const response = await request(path, {
    ...init,
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  await response.arrayBuffer();
  await until("it is recorded", () => seen.length > 0);
  const [payload] = seen;
  if (payload === undefined) throw new Error("there is no record");
  return payload;
}

for (const [path, body] of Object.entries(REQUESTS))
  test.each([false, true])(`${path} with stream %p is recorded`, async (stream) => {
    const payload = await recorded(path, { ...body, stream }, { authorization: "Bearer abcdef" });
    expect(payload).toMatchObject({ method: "POST", route: path, status: 200, model: "tiny", error: null });
    expect(payload.request).toEqual({ ...body, stream });
    expect(payload.headers["authorization"]).toBe("[redacted]");
    expect(Array.isArray(payload.response)).toBe(stream);
    expect(JSON.stringify(payload.response)).toContain("Said.");
  });

test("embeddings, and requests that fail, are recorded too; pages and lists are not", async () => {
  expect(await recorded("/v1/embeddings", { input: "x" })).toMatchObject({
    request: { input: "x" },
    status: 200,
  });
  const refused = await recorded("/v1/chat/completions", { messages: ASKED, temperature: 99 });
  expect(refused).toMatchObject({ status: 400, error: "invalid_request", response: { error: {} } });
  expect(await recorded("/v1/chat/completions", "{no json")).toMatchObject({ status: 400, request: null });
  const seen: Payload[] = [];
  const { request } = testApp(playing(answer("x")).generate, { payloads: (one) => void seen.push(one) });
  for (const path of ["/health", "/v1/models", "/v1/files"]) await (await request(path)).text();
  expect(seen).toEqual([]);
});

describe("secrets are left out", () => {
  test.each<[string, unknown, unknown]>([
    ["a field", { api_key: "abc", max_tokens: 5 }, { api_key: "[redacted]", max_tokens: 5 }],
    [
      "of a tool",
      { tools: [{ type: "mcp", authorization: "abc" }] },
      { tools: [{ type: "mcp", authorization: "[redacted]" }] },
    ],
    ["headers of a tool", { headers: { "X-Any": "abc" } }, { headers: { "X-Any": "[redacted]" } }],
    ["a text", "use sk-abcdefghijklmnop1234 now", "use [redacted] now"],
    ["an address", "https://me:pw@host/x", "https://[redacted]@host/x"],
    ["a quoted header", "authorization: Bearer abcdefghijklmnop", "authorization: Bearer [redacted]"],
    [
      "ordinary words",
      { token_ids: [1], key_points: "the key", keyed: "x" },
      { token_ids: [1], key_points: "the key", keyed: "x" },
    ],
  ])("%s", (_, given, expected) => {
    expect(redacted(given)).toEqual(expected);
  });

  test("of texts that a stream sends in parts, each of its kind", () => {
    const delta = (index: number, content: string, more = {}) => ({
      model: "svc-tiny",
      choices: [{ index, delta: { content, ...more } }],
    });
    const texts = ["use sk-", "abcdefgh", "ijklmnop12", "34 now", "!"];
    const said = redactedEvents(texts.map((text) => delta(0, text, { reasoning: "sk" })));
    expect(said).toEqual(
      ["use [redacted]", "", "", " now", "!"].map((text) => delta(0, text, { reasoning: "sk" })),
    );
    const plain = [delta(0, "svc-"), delta(0, "tiny"), "[DONE]", null];
    expect(redactedEvents(plain)).toEqual(plain);
    const two = ["a hf_aaaaaaaaaaaaaaaaaaaa b hf_bbbb", "bbbbbbbbbbbbbbbbbbbb c"];
    expect(redactedEvents(two.map((text) => ({ delta: text })))).toEqual([
      { delta: "a [redacted] b [redacted]" },
      { delta: " c" },
    ]);
  });

  test("of headers, and long texts say what is missing", () => {
    const headers = new Headers({ cookie: "a", "x-api-key": "b", "user-agent": "curl" });
    expect(redactedHeaders(headers)).toEqual({
      cookie: "[redacted]",
      "x-api-key": "[redacted]",
      "user-agent": "curl",
    });
    expect(redacted("x".repeat(300_000))).toEndWith("… (37856 more characters)");
  });
});

const SAMPLE: Payload = {
  time: "",
  request_id: "r",
  method: "POST",
  route: "/v1/completions",
  status: 200,
  model: "tiny",
  seconds: 1,
  error: null,
  client_left: false,
  headers: {},
  request: { prompt: "x".repeat(200_000) },
  response: null,
};

describe("the file", () => {
  const opened = (payloads: string, log: string[] = []) =>
    openPayloadLog({ log: { payloads, payloads_max_mb: 1 } }, (line) => void log.push(line));

  test("is its owner's, in order, and becomes FILE.1 at its size", async () => {
    const path = join(tempDir(), "payloads.jsonl");
    writeFileSync(path, "", { mode: 0o644 });
    const log: string[] = [];
    const file = await opened(path, log);
    for (let at = 0; at < 8; at++) file?.take({ ...SAMPLE, request_id: String(at) });
    await file?.close();
    expect(log.join("\n")).toContain("prompts and answers of all clients are written to");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const ids = [`${path}.1`, path].flatMap((one) =>
      readFileSync(one, "utf8")
        .trimEnd()
        .split("\n")
        .map((line): string => JSON.parse(line).request_id),
    );
    expect(ids).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"]);
    for (const one of [path, `${path}.1`]) expect(statSync(one).size).toBeLessThanOrEqual(1 << 20);
  });

  test("is refused where it cannot be written, or leads elsewhere", async () => {
    const folder = tempDir();
    expect(await failure(opened(join(folder, "no/where")))).toContain("log.payloads");
    expect(await failure(opened(folder))).toContain("cannot be written");
    const link = join(folder, "link");
    symlinkSync(join(folder, "target"), link);
    expect(await failure(opened(link))).toContain("cannot be written");
  });
});
