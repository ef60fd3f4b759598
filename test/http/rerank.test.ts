import { expect, test } from "bun:test";
import { ServiceError } from "../../src/core/error.ts";
import type { Rank } from "../../src/core/run.ts";
import { testApp } from "../helpers/app.ts";

const PATH = "/v1/rerank";
const BODY = { query: "cats", documents: ["a", "bcd", "ef"] };

test.each([PATH, "/v2/rerank"])("documents come back by relevance from %s", async (path) => {
  const response = await testApp().post(path, { ...BODY, top_n: 2 });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    id: expect.stringMatching(/^rerank-/),
    object: "list",
    model: "tiny",
    results: [
      { index: 1, relevance_score: 0.75 },
      { index: 2, relevance_score: 2 / 3 },
    ],
    usage: { prompt_tokens: 6, total_tokens: 6 },
  });
});

test("errors of the engine have their status", async () => {
  const rank: Rank = () => {
    throw new ServiceError("unsupported_capability", "not a reranker", { param: "model" });
  };
  const response = await testApp(undefined, { rank }).post(PATH, BODY);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: "unsupported_capability", param: "model" } });
});

test("a server that stops takes none", async () => {
  const response = await testApp(undefined, { draining: () => true }).post(PATH, BODY);
  expect(response.status).toBe(503);
});
