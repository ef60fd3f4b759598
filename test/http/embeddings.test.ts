import { expect, test } from "bun:test";
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
