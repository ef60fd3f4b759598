// Models with different abilities: one that only embeds, one that only generates, one that fills gaps in texts, one that ranks. What they
// cannot do is refused.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { launchServer, newFolder, type Server } from "../helpers/binary.ts";
import { postJson } from "../helpers/post.ts";
import { tinyBert, tinyFillsGaps, tinyPooled } from "../helpers/tiny-models.ts";

let server: Server;
beforeAll(async () => {
  const cwd = newFolder();
  const tables = [
    [tinyBert("mean"), "only-embeds"],
    [tinyPooled("rank"), "only-generates"],
    [tinyBert("rank"), "only-ranks"],
    [tinyFillsGaps(), "fills-gaps"],
  ].map(([path, alias]) => `[[models]]\nmodel_id = "${path}"\nalias = "${alias}"\n`);
  writeFileSync(join(cwd, "svc.toml"), tables.join(""));
  server = await launchServer(["svc.toml"], { cwd });
});
afterAll(async () => void (await server.stop()));

function post(path: string, body: unknown): Promise<Response> {
  return postJson(`${server.url}/v1/${path}`, body);
}

const messages = [{ role: "user", content: "Hello" }];

test.each([
  ["chat/completions", "only-embeds", { messages }],
  ["chat/completions", "only-embeds", { messages, stream: true }],
  ["completions", "only-embeds", { prompt: "Once" }],
  ["completions", "only-embeds", { prompt: ["Once", "Twice"], stream: true }],
  ["embeddings", "only-generates", { input: "a cat" }],
  ["embeddings", "only-ranks", { input: "a cat" }],
  ["chat/completions", "only-ranks", { messages }],
  ["rerank", "only-embeds", { query: "a", documents: ["b"] }],
  ["rerank", "fills-gaps", { query: "a", documents: ["b"] }],
])("%s of %s is refused, %p", async (path, model, body) => {
  const response = await post(path, { ...body, model });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: {
      code: "unsupported_capability",
      type: "invalid_request_error",
      param: "model",
      message: expect.stringContaining(`"${model}"`),
    },
  });
});

test("a gap is filled: the answer depends on what comes after it", async () => {
  const fill = async (suffix: string): Promise<string> => {
    const asked = { prompt: "def add(a, b):\n    return ", suffix, max_tokens: 12, temperature: 0 };
    const response = await post("completions", { model: "fills-gaps", ...asked });
    expect(response.status).toBe(200);
    const { choices } = (await response.json()) as { choices: { text: string }[] }; // the wire is tested elsewhere
    return choices[0]?.text ?? "";
  };
  const filled = await fill("\n\nprint(add(1, 2))");
  expect(filled).not.toBe("");
  expect(await fill("something else altogether")).not.toBe(filled);
  const refused = await post("completions", { model: "only-generates", prompt: "a", suffix: "b" });
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ error: { code: "unsupported_capability", param: "suffix" } });
});

test("what they can do, they do", async () => {
  const embedded = await post("embeddings", { model: "only-embeds", input: ["a cat", "a dog"] });
  expect(embedded.status).toBe(200);
  const { data } = (await embedded.json()) as { data: { embedding: number[] }[] }; // the wire is tested elsewhere
  expect(data.map(({ embedding }) => embedding.length)).toEqual([32, 32]);
  const answered = await post("chat/completions", { model: "only-generates", messages, max_tokens: 3 });
  expect(answered.status).toBe(200);
  const ranked = await post("rerank", {
    model: "only-ranks",
    query: "a cat",
    documents: ["b", "c d", "cats"],
  });
  expect(ranked.status).toBe(200);
  const { results } = (await ranked.json()) as { results: { index: number; relevance_score: number }[] };
  expect(results.map(({ index }) => index).toSorted((a, b) => a - b)).toEqual([0, 1, 2]);
  const scores = results.map(({ relevance_score: score }) => score);
  expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  const asked = { model: "only-ranks", query: "a cat", documents: ["b", "c d", "cats"], top_n: 1 };
  const newer = await postJson(`${server.url}/v2/rerank`, asked);
  expect(await newer.json()).toMatchObject({ results: results.slice(0, 1) });
  expect(server.enginePids()).toHaveLength(4);
});

describe("an editor plugin", () => {
  const asked = {
    model: "fills-gaps",
    input_prefix: "def add(a, b):\n    # the sum of two numbers, which may be negative\n",
    input_suffix: "\n\nprint(add(1, 2))",
    input_extra: [{ filename: "other.py", text: "def sub(a, b):\n    return a - b\n".repeat(4) }],
    n_predict: 8,
    temperature: 0,
  };
  const infill = (body: object): Promise<Response> =>
    fetch(`${server.url}/infill`, { method: "POST", body: JSON.stringify({ ...asked, ...body }) });

  interface Filled {
    readonly content: string;
    readonly stop: boolean;
    readonly timings: { readonly cache_n: number; readonly prompt_n: number };
  }

  test("gets its gap filled, and the next keystroke finds the beginning in the cache", async () => {
    const first = (await (await infill({ prompt: "    return " })).json()) as Filled;
    expect(first.content).not.toBe("");
    const second = (await (await infill({ prompt: "    return a" })).json()) as Filled;
    expect(second.timings.cache_n).toBeGreaterThan(second.timings.prompt_n);
  });

  test("streams the same, and warms the cache without an answer", async () => {
    const whole = (await (await infill({ prompt: "    ret" })).json()) as Filled;
    const frames = (await (await infill({ prompt: "    ret", stream: true })).text()).trim().split("\n\n");
    const pieces = frames.map((frame): Filled => JSON.parse(frame.replace(/^data: /, "")));
    expect(pieces.map(({ content }) => content).join("")).toBe(whole.content);
    expect(pieces.map(({ stop }) => stop).indexOf(true)).toBe(pieces.length - 1);
    expect(await (await infill({ n_predict: 0, response_fields: ["content"] })).json()).toEqual({
      content: "",
    });
  });

  test("is refused by a model without marks for gaps", async () => {
    const response = await infill({ model: "only-generates" });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: "unsupported_capability", param: "input_suffix" },
    });
  });
});
