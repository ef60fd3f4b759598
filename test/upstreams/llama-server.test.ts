// llama-server behind svc, by each of its three APIs, with the built-in model.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { TINY_FILE } from "../helpers/binary.ts";
import { rejection } from "../helpers/failure.ts";
import { postJson } from "../helpers/post.ts";
import { tinyBert } from "../helpers/tiny-models.ts";
import { until } from "../helpers/until.ts";
import { entry, type Front, startFront } from "./front.ts";
import {
  describeWithPrograms,
  LLAMA_SERVER,
  metricOf,
  type Running,
  SETUP_MS,
  startProgram,
  stopAll,
} from "./programs.ts";
import * as suite from "./suite.ts";

describeWithPrograms(LLAMA_SERVER)("llama-server", () => {
  let engine: Running;
  let front: Front;
  const start = (file: string, ...more: readonly string[]): Promise<Running> =>
    startProgram({
      program: LLAMA_SERVER,
      args: (port) => [
        ...`--host 127.0.0.1 --port ${port} --jinja --no-ui -c 4096 -np 2 -t 1 --alias tiny --metrics`.split(
          " ",
        ),
        "-m",
        file,
        ...more,
      ],
      ready: "/health",
    });
  afterAll(stopAll);
  beforeAll(async () => {
    engine = await start(TINY_FILE);
    const vectors = await start(TINY_FILE, "--embeddings", "--pooling", "mean");
    const scores = await start(tinyBert("rank"), "--reranking");
    const upstream = { url: `${engine.url}/v1`, model: "tiny" };
    const fast = "[models.routing]\ncooldown = 0.2\n";
    front = await startFront([
      entry("chat", [upstream], fast),
      entry("vectors", [{ url: `${vectors.url}/v1`, model: "tiny" }]),
      entry("scores", [{ url: `${scores.url}/v1`, model: "tiny" }]),
    ]);
  }, SETUP_MS);

  describe("by chat", () => {
    suite.dialectTests(
      "chat",
      () => front,
      () => metricOf(engine.url, "llamacpp:requests_processing"),
    );
    suite.countTests("chat", () => front);
    suite.schemaTests("chat", () => front);
    suite.logprobTests("chat", () => front);
    suite.completionTests("chat", () => front);
  });
  suite.embeddingTests("vectors", () => front);

  test("reranking", async () => {
    const answer = await postJson(`${front.url}/v1/rerank`, {
      model: "scores",
      query: "a cat",
      documents: ["a dog", "a cat", "rivers"],
    });
    const { results } = (await answer.json()) as { results: { index: number; relevance_score: number }[] };
    expect(results.map(({ index }) => index).toSorted((a, b) => a - b)).toEqual([0, 1, 2]);
    for (const { relevance_score: score } of results) expect(Number.isFinite(score)).toBe(true);
  });

  test("its facts are known; what it does not do is refused by name", async () => {
    expect(await front.upstreams("chat")).toMatchObject([{ engine: "llama-server", status: "healthy" }]);
    const card = await front.openAi.models.retrieve("chat");
    expect(card).toMatchObject({ max_model_len: 2048, modalities: [] });
    const refused = await rejection(front.openAi.embeddings.create({ model: "chat", input: "a" }));
    expect(refused).toMatchObject({ status: 400, code: "unsupported_capability" });
    const image_url = { url: "data:image/png;base64,iVBORw0KGgo=" };
    const seen = await rejection(
      front.openAi.chat.completions.create({
        model: "chat",
        messages: [{ role: "user", content: [{ type: "image_url", image_url }] }],
      }),
    );
    expect(seen).toMatchObject({ status: 400 });
  });

  test("two answers at once", async () => {
    const messages = [{ role: "user" as const, content: "Hi" }];
    const { choices } = await front.openAi.chat.completions.create({
      model: "chat",
      messages,
      n: 2,
      max_tokens: 4,
    });
    expect(choices.map(({ message }) => message.content)).toEqual([expect.any(String), expect.any(String)]);
  });

  test("sampling fields reach it under its names", async () => {
    const messages = [{ role: "user" as const, content: "Count from 1 to 5." }];
    const fields = { min_p: 0.05, top_k: 4, repetition_penalty: 1.1, dry_multiplier: 0.5, seed: 3 };
    const body = { model: "chat", messages, max_tokens: 12, temperature: 1, ...fields };
    const texts = await Promise.all(
      [1, 2].map(async () => (await front.openAi.chat.completions.create(body)).choices[0]?.message.content),
    );
    expect(texts[0]).toBe(texts[1] ?? "");
  });

  test("a prompt that is too long is context_length_exceeded", async () => {
    const content = "word ".repeat(6000);
    const refused = await rejection(
      front.openAi.chat.completions.create({ model: "chat", messages: [{ role: "user", content }] }),
    );
    expect(refused).toMatchObject({ status: 400, code: "context_length_exceeded" });
  });

  test(
    "killed within an answer: one error in band; back again: it answers",
    async () => {
      const stream = await front.openAi.chat.completions.create({
        model: "chat",
        messages: [{ role: "user", content: "Count to 1000" }],
        stream: true,
      });
      const failed = await rejection(
        (async () => {
          for await (const { choices } of stream) if ((choices[0]?.delta.content ?? "") !== "") engine.kill();
        })(),
      );
      expect(failed).toMatchObject({ code: "upstream_failed" });
      const refused: unknown = await ask("chat").catch((error: unknown) => error);
      expect(refused).toMatchObject({ status: 503 });
      await engine.restart();
      await until("it answers again", () => ask("chat").catch(() => false), 60_000);
    },
    SETUP_MS,
  );

  async function ask(model: string): Promise<boolean> {
    const messages = [{ role: "user" as const, content: "Hi" }];
    const { choices } = await front.openAi.chat.completions.create({ model, messages, max_tokens: 1 });
    return choices.length === 1;
  }
});
