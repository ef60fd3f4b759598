import { expect, test } from "bun:test";
import { ServiceError } from "../../src/core/error.ts";
import type { Embed, EmbedRequest } from "../../src/core/run.ts";
import { testApp } from "../helpers/app.ts";

const PATH = "/v1/embeddings";

const embedWith = (embed: Embed) => testApp(undefined, { embed });

test("inputs become vectors in their order", async () => {
  const seen: EmbedRequest[] = [];
  const app = embedWith(async (request) => {
    seen.push(request);
    return { vectors: request.inputs.map((_, index) => [index, 1]), promptTokens: 5 };
  });
  const response = await app.post(PATH, { input: ["a", "bc"], truncate_sequence: true });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toStartWith("application/json");
  expect(await response.json()).toEqual({
    object: "list",
    data: [
      { object: "embedding", index: 0, embedding: [0, 1] },
      { object: "embedding", index: 1, embedding: [1, 1] },
    ],
    model: "tiny",
    usage: { prompt_tokens: 5, total_tokens: 5 },
  });
  expect(seen).toEqual([{ model: "default", inputs: ["a", "bc"], truncate: true }]);
});

test("errors of the engine have their status", async () => {
  const app = embedWith(() => {
    throw new ServiceError("unsupported_capability", "not an embedding model", { param: "model" });
  });
  const response = await app.post(PATH, { input: "a", model: "chat-only" });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: "unsupported_capability", param: "model" } });
});

test("a result that does not fit is a bug, not an answer", async () => {
  const app = embedWith(async () => ({ vectors: [], promptTokens: 1 }));
  const response = await app.post(PATH, { input: "a" });
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { code: "internal_error" } });
  expect(app.logged).toHaveLength(1);
});

test("a client that leaves ends the work and logs nothing", async () => {
  const client = new AbortController();
  const started = Promise.withResolvers<AbortSignal>();
  const app = embedWith((_, signal) => {
    started.resolve(signal);
    return new Promise((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(new Error("gone"))),
    );
  });
  const pending = app.request(PATH, {
    method: "POST",
    body: JSON.stringify({ input: "a" }),
    signal: client.signal,
  });
  const signal = await started.promise;
  client.abort();
  await pending.catch(() => {});
  expect(signal.aborted).toBe(true);
  expect(app.logged).toEqual([]);
});

test("a draining server refuses", async () => {
  const response = await testApp(undefined, { draining: () => true }).post(PATH, { input: "a" });
  expect(response.status).toBe(503);
});
