// Vectors, scores, images and speech by upstreams: passed on, refused, never made twice.

import { describe, expect, test } from "bun:test";
import { SERVER } from "../../src/core/caller.ts";
import { fakeUpstream } from "../helpers/fake-upstream.ts";
import { modelOn, NEVER } from "../helpers/upstream-model.ts";

describe("answers as a whole", () => {
  const whole = (body: unknown) => fakeUpstream({ type: "status", status: 200, body });

  test("vectors come in their order and of unit length, scores by document", async () => {
    const vectors = whole({
      data: [
        { index: 1, embedding: [0, 2] },
        { index: 0, embedding: [3, 4] },
      ],
      usage: { prompt_tokens: 5 },
    });
    const { model } = modelOn([vectors]);
    const texts = { model: "big", inputs: ["a", "b"], truncate: false };
    expect(await model.embed(texts, NEVER, SERVER)).toEqual({
      vectors: [
        [0.6, 0.8],
        [0, 1],
      ],
      promptTokens: 5,
    });
    vectors.behaviour = {
      type: "status",
      status: 200,
      body: {
        results: [
          { index: 1, relevance_score: 0.9 },
          { index: 0, relevance_score: 0.1 },
        ],
      },
    };
    const ranked = { model: "big", query: "q", documents: ["a", "b"], truncate: false };
    expect((await model.embed(ranked, NEVER, SERVER)).vectors).toEqual([[0.1], [0.9]]);
    vectors.behaviour = { type: "status", status: 200, body: { data: [] } };
    const refused: unknown = await model.embed(texts, NEVER, SERVER).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "upstream_failed" });
  });

  test("scores as SGLang has them; fields that vectors need are refused by name", async () => {
    const sglang = whole([
      { index: 1, score: 0.9, document: "b" },
      { index: 0, score: 0.1, document: "a" },
    ]);
    sglang.cards = [{ id: "m", owned_by: "sglang" }];
    const { model } = modelOn([sglang]);
    const ranked = { model: "big", query: "q", documents: ["a", "b"], truncate: false };
    expect((await model.embed(ranked, NEVER, SERVER)).vectors).toEqual([[0.1], [0.9]]);
    const refused = async (request: object): Promise<unknown> =>
      model.embed({ ...ranked, ...request }, NEVER, SERVER).catch((error: unknown) => error);
    expect(await refused({ truncate: true })).toMatchObject({
      code: "unsupported_capability",
      param: "truncate_sequence",
    });
    expect(await refused({ documentTokens: 5 })).toMatchObject({ param: "max_tokens_per_doc" });
    expect(sglang.seen).toHaveLength(1);
  });

  const PICTURE = { model: "big", prompt: "a cat", count: 1, width: 64, height: 32 };

  test("images come as base64, whatever the server's form", async () => {
    for (const data of ["AAAA", "data:image/png;base64,AAAA"]) {
      const images = whole({ data: [{ b64_json: data }] });
      const { model } = modelOn([images], { kind: "image" });
      const events = await Array.fromAsync(model.draw(PICTURE, NEVER, SERVER));
      expect(events).toMatchObject([{ type: "image", png: "AAAA" }, { type: "finish" }]);
      expect(images.seen[0]).toMatchObject({
        path: "/v1/images/generations",
        body: { size: "64x32", n: 1, response_format: "b64_json" },
      });
    }
    const openAi = whole({ data: [{ b64_json: "AAAA" }] });
    openAi.cards = [{ id: "gpt-image-1", owned_by: "system" }];
    const { model } = modelOn([openAi], { kind: "image", each: { model: "gpt-image-1" } });
    await Array.fromAsync(model.draw(PICTURE, NEVER, SERVER));
    expect(openAi.seen[0]?.body).toEqual({ model: "gpt-image-1", prompt: "a cat", n: 1, size: "64x32" });
  });

  test("images by address are fetched without the key, and only those that were asked for", async () => {
    const asked: (string | null)[] = [];
    using store = Bun.serve({
      port: 0,
      fetch: ({ url, headers }) => {
        asked.push(headers.get("authorization"));
        return url.endsWith("moved") ? Response.redirect("/cat", 302) : new Response("cat");
      },
    });
    const drawn = (...names: readonly string[]) => {
      const images = whole({ data: names.map((name) => ({ url: `${store.url.href}${name}` })) });
      const { model } = modelOn([images], { kind: "image", each: { key: "secret" } });
      return Array.fromAsync(model.draw(PICTURE, NEVER, SERVER));
    };
    const png = Buffer.from("cat").toString("base64");
    expect(await drawn("cat")).toMatchObject([{ type: "image", png }, { type: "finish" }]);
    expect(await drawn("cat", "cat")).toMatchObject([{ type: "error", error: { code: "upstream_failed" } }]);
    expect(await drawn("moved")).toMatchObject([{ type: "error" }]);
    expect(asked).toEqual([null, null]);
  });

  test.each([
    { type: "close", after: "head" },
    { type: "close", after: "nothing" },
    { type: "status", status: 500 },
    { type: "status", status: 429 },
  ] as const)("an image is asked for once: %o", async (behaviour) => {
    const [ill, well] = [fakeUpstream(behaviour), whole({ data: [{ b64_json: "AAAA" }] })];
    const { model: other } = modelOn([whole({ data: [{ b64_json: "BBBB" }] })], { kind: "image" });
    const fallbacks = () => [{ id: "other", model: other }];
    const { model } = modelOn([ill, well], { kind: "image", fallbacks });
    expect(await Array.fromAsync(model.draw(PICTURE, NEVER, SERVER))).toMatchObject([{ type: "error" }]);
    expect([ill.seen.length, well.seen.length]).toEqual([1, 0]);
  });

  test("an image that no upstream was asked for comes from the fallback", async () => {
    const down = fakeUpstream();
    const { model: other } = modelOn([whole({ data: [{ b64_json: "BBBB" }] })], { kind: "image" });
    const { model } = modelOn([down], { kind: "image", fallbacks: () => [{ id: "other", model: other }] });
    down.stop();
    const events = await Array.fromAsync(model.draw(PICTURE, NEVER, SERVER));
    expect(events).toMatchObject([{ type: "image", png: "BBBB" }, { type: "finish" }]);
    expect(model.pool.counts.fallbacks).toBe(1);
  });

  test("speech is passed on with its voice; what is no sound is an error", async () => {
    const voice = whole({});
    const { model } = modelOn([voice], { kind: "speech" });
    const said = { model: "big", text: "Hi.", voice: "af_sky", speed: 1.5 };
    expect(await Array.fromAsync(model.speak(said, NEVER, SERVER))).toMatchObject([
      { type: "error", error: { code: "upstream_failed" } },
    ]);
    expect(voice.seen[0]?.body).toEqual({
      model: "m",
      input: "Hi.",
      response_format: "wav",
      voice: "af_sky",
      speed: 1.5,
    });
  });
});
