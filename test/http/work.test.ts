// What is the same for every route that gives work to a model: a server that stops, an engine that refuses, an answer that does not
// fit, a client that leaves.

import { beforeEach, describe, expect, test } from "bun:test";
import { type ErrorCode, ServiceError } from "../../src/core/error.ts";
import type { HttpDeps } from "../../src/http/deps.ts";
import { chatBody, messagesBody, responsesBody, testApp, textBody } from "../helpers/app.ts";
import { isOllama } from "../helpers/operations.ts";

type Work = (signal: AbortSignal) => Promise<never>;

/** Dependencies in which each kind of work is this. */
function doing(work: Work): Partial<HttpDeps> {
  const run = async function* (_: unknown, signal: AbortSignal): AsyncGenerator<never> {
    try {
      yield await work(signal);
    } catch (thrown) {
      if (!signal.aborted) throw thrown; // an aborted run just ends
    }
  };
  const once = (_: unknown, signal: AbortSignal) => work(signal);
  return { generate: run, converse: run, draw: run, speak: run, embed: once, rank: once };
}

const INFILL = { input_prefix: "a", input_suffix: "b" };
const RANKED = { query: "cats", documents: ["a", "bcd"] };

const ROUTES: readonly (readonly [string, Record<string, unknown>])[] = [
  ["/v1/chat/completions", chatBody()],
  ["/v1/chat/completions", chatBody({ stream: true })],
  ["/v1/chat/completions/input_tokens", chatBody()],
  ["/v1/completions", textBody()],
  ["/v1/completions", textBody({ stream: true })],
  ["/v1/messages", messagesBody()],
  ["/v1/messages", messagesBody({ stream: true })],
  ["/v1/messages/count_tokens", messagesBody()],
  ["/v1/responses", responsesBody()],
  ["/v1/responses", responsesBody({ stream: true })],
  ["/infill", INFILL],
  ["/infill", { ...INFILL, stream: true }],
  ["/v1/embeddings", { input: "a" }],
  ["/v1/rerank", RANKED],
  ["/v2/rerank", RANKED],
  ["/rerank", RANKED],
  ["/v1/images/generations", { prompt: "a cat" }],
  ["/v1/audio/speech", { input: "a" }],
  ["/api/chat", { model: "tiny", ...chatBody() }],
  ["/api/generate", { model: "tiny", prompt: "a", stream: false }],
  ["/api/embed", { model: "tiny", input: "a" }],
];

let work: Work;
let draining = false;
const app = testApp(undefined, { ...doing((signal) => work(signal)), draining: () => draining });
beforeEach(() => {
  draining = false;
  app.logged.length = 0;
});

describe.each(ROUTES)("%s %j", (path, body) => {
  const errorOf = (code: ErrorCode, type: string) =>
    isOllama(path) ? { error: expect.any(String) } : { error: { code, type } };

  test("a server that stops begins nothing", async () => {
    work = () => Promise.reject(new Error("begun"));
    draining = true;
    const response = await app.post(path, body);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await response.json()).toMatchObject(errorOf("shutting_down", "server_error"));
    expect(app.logged).toEqual([]);
  });

  test.each([
    ["model_not_found", 404, "not_found_error"],
    ["unsupported_capability", 400, "invalid_request_error"],
    ["queue_full", 429, "rate_limit_error"],
    ["model_unavailable", 503, "server_error"],
    ["engine_failed", 500, "server_error"],
  ] as const)("an error before the answer has its status: %s", async (code, status, type) => {
    work = () => Promise.reject(new ServiceError(code, "why"));
    const response = await app.post(path, body);
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toStartWith("application/json");
    expect(response.headers.has("retry-after")).toBe(status === 429 || status === 503);
    expect(await response.json()).toMatchObject(errorOf(code, type));
  });

  test("a client that leaves ends the work, and nothing is logged", async () => {
    const client = new AbortController();
    const begun = Promise.withResolvers<AbortSignal>();
    work = (signal) => {
      begun.resolve(signal);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("gone"))));
    };
    const pending = app.post(path, body, { signal: client.signal });
    const signal = await begun.promise;
    client.abort();
    await pending.catch(() => {});
    expect(signal.aborted).toBe(true);
    expect(app.logged).toEqual([]);
  });
});

test.each([
  ["/v1/embeddings", { input: "a" }, { embed: async () => ({ vectors: [], promptTokens: 1 }) }],
  [
    "/v1/images/generations",
    { prompt: "a" },
    {
      draw: async function* () {
        yield { type: "finish" } as const;
      },
    },
  ],
] satisfies [string, object, Partial<HttpDeps>][])(
  "%s: an answer that does not fit is a bug, not an answer",
  async (path, body, deps) => {
    const other = testApp(undefined, deps);
    const response = await other.post(path, body);
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: { code: "internal_error" } });
    expect(other.logged).toHaveLength(1);
  },
);
