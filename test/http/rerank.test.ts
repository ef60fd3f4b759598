import { expect, test } from "bun:test";
import { testApp } from "../helpers/app.ts";

const PATH = "/v1/rerank";
const BODY = { query: "cats", documents: ["a", "bcd", "ef"] };

test.each([PATH, "/v2/rerank", "/rerank"])("documents come back by relevance from %s", async (path) => {
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
