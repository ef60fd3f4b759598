// Embeddings through the native library: every kind of pooling, of models that look back and of those that see all.

import { afterEach, describe, expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { ServiceError } from "../../src/core/error.ts";
import type { EmbedRequest } from "../../src/core/run.ts";
import type { SlotId } from "../../src/worker/text/backend.ts";
import { Embedder, type EmbedOutcome } from "../../src/worker/text/embedder.ts";
import { embedTokens } from "../helpers/embed-tokens.ts";
import { architectureModel } from "../helpers/architecture-models.ts";
import { pooledByLlama } from "../helpers/llama-pooling.ts";
import { tinyBackend } from "../helpers/native.ts";
import { BERT_MARKS, tinyBert, tinyPooled } from "../helpers/tiny-models.ts";
import { ALONE, TOGETHER } from "../zoo/prompts.ts";

let open: LlamaBackend | undefined;
afterEach(() => {
  open?.close();
  open = undefined;
});

async function load(path?: string): Promise<LlamaBackend> {
  return (open = await tinyBackend({ contextLen: 512, maxSeqs: 4 }, path));
}

function outcomeOf(backend: LlamaBackend, request: Partial<EmbedRequest>): EmbedOutcome["result"] {
  const results: EmbedOutcome["result"][] = [];
  const embedder = new Embedder(
    () => backend.embedder(),
    ({ result }) => results.push(result),
  );
  embedder.add(1, { model: "default", inputs: [], truncate: false, ...request });
  while (embedder.step(5));
  const [result] = results;
  if (result === undefined) throw new Error("nothing came of it");
  return result;
}

function embed(backend: LlamaBackend, inputs: EmbedRequest["inputs"]): readonly Float32Array[] {
  const result = outcomeOf(backend, { inputs });
  if (result instanceof ServiceError) throw result;
  return result.vectors;
}

/** Cosine of two vectors of unit length. */
function cosine(a: Float32Array = new Float32Array(), b: Float32Array = new Float32Array()): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
}

function length(vector: Float32Array = new Float32Array()): number {
  return Math.hypot(...vector);
}

/** The vector of an input's first token, without those of the others. */
function firstRow(backend: LlamaBackend, tokens: readonly number[]): Float32Array {
  const embedder = backend.embedder();
  const sum = new Float32Array(embedder.dimensions);
  const column = (value: (index: number) => number): Int32Array =>
    Int32Array.from(tokens, (_, index) => value(index));
  const columns = {
    token: Int32Array.from(tokens),
    position: column((index) => index),
    slot: column(() => 0),
    output: new Int8Array(tokens.length).fill(1),
  };
  expect(embedder.decode(columns, tokens.length)).toBe(true);
  embedder.addRows(Int32Array.of(0), sum);
  embedder.clearSlot(0 as SlotId);
  return sum;
}

const long = "the quick brown fox jumps over the lazy dog ".repeat(8);
const TEXTS = ["a", "the capital of france is paris", long, "one two three"];

describe.each(["mean", "cls", "last"] as const)("a causal model with %s pooling", (pooling) => {
  test("equals the pooling of llama.cpp, for short inputs and inputs of several batches", async () => {
    const backend = await load(tinyPooled(pooling));
    const vectors = embed(backend, TEXTS);
    expect(embedTokens(backend, long).length).toBeGreaterThan(2 * backend.embedder().batch);
    TEXTS.forEach((text, index) => {
      expect(vectors[index]).toHaveLength(256);
      const reference = pooledByLlama(backend, embedTokens(backend, text), pooling);
      expect(cosine(vectors[index], reference)).toBeGreaterThan(0.999);
    });
    expect(Math.abs(cosine(vectors[1], vectors[3]))).toBeLessThan(0.999); // they do tell texts apart
  });
});

// Their files say nothing of it: llama.cpp computes them without a cache.
test.each(["llama-embed", "t5encoder"])(
  "%s sees its whole input at once, and writes no text",
  async (name) => {
    const backend = await load(architectureModel(name));
    expect(backend.info).toMatchObject({ generates: false, embeds: true });
    const inputs = [0, 1, 2].map((input) => [...(ALONE[input] ?? []), ...(ALONE[2] ?? [])]);
    const vectors = embed(backend, inputs);
    inputs.forEach((tokens, index) => {
      const reference = pooledByLlama(backend, Int32Array.from(tokens), "mean");
      expect(cosine(vectors[index], reference)).toBeGreaterThan(0.9999);
    });
  },
);

test("the first token of an encoder attends to the last one", async () => {
  const backend = await load(architectureModel("t5encoder"));
  const [first = 0, ...rest] = ALONE[1] ?? [];
  const context = rest.slice(0, 20);
  const firsts = [context, [...context.slice(1), first]].map((after) => firstRow(backend, [first, ...after]));
  expect(cosine(firsts[0], firsts[1]) / (length(firsts[0]) * length(firsts[1]))).toBeLessThan(0.999);
});

test.each(["plamo2", "arwkv7"])(
  "inputs of %s, which generates one sequence at a time, may share a batch",
  async (name) => {
    const backend = await load(architectureModel(name));
    const inputs = TOGETHER.slice(4).map((tokens) => [...tokens]);
    const alone = inputs.flatMap((input) => embed(backend, [input]));
    const beside = embed(backend, [...inputs, ...inputs]);
    beside.forEach((vector, index) =>
      expect(cosine(vector, alone[index % inputs.length])).toBeGreaterThan(0.9999),
    );
  },
);

test("a causal model without a pooling type uses the mean", async () => {
  const backend = await load();
  const [vector] = embed(backend, [TEXTS[1] ?? ""]);
  const reference = pooledByLlama(backend, embedTokens(backend, TEXTS[1] ?? ""), "mean");
  expect(cosine(vector, reference)).toBeGreaterThan(0.999);
});

test("cls of a causal model depends on the first token only", async () => {
  const backend = await load(tinyPooled("cls"));
  const [a, b, c] = embed(backend, [
    [100, 200, 300],
    [100, 400],
    [101, 200, 300],
  ]);
  expect(cosine(a, b)).toBeCloseTo(1, 3);
  expect(cosine(a, c)).toBeLessThan(0.999);
});

test("the mean equals that of the last-pooled vectors of all prefixes", async () => {
  const tokens = [100, 200, 300];
  const lastBackend = await load(tinyPooled("last"));
  const beginnings = embed(
    lastBackend,
    tokens.map((_, i) => tokens.slice(0, i + 1)),
  );
  lastBackend.close();
  open = undefined;
  const [mean] = embed(await load(tinyPooled("mean")), [tokens]);
  // The vectors of the beginnings come at unit length; the model's last norm has made them nearly equal in length before.
  const sum = Float32Array.from({ length: 256 }, (_, i) =>
    beginnings.reduce((total, vector) => total + (vector[i] ?? 0), 0),
  );
  const length = Math.hypot(...sum);
  expect(
    cosine(
      mean,
      sum.map((value) => value / length),
    ),
  ).toBeGreaterThan(0.98);
});

describe.each(["mean", "cls", "last"] as const)("BERT with %s pooling", (pooling) => {
  test("equals the pooling of llama.cpp, at any batch size", async () => {
    const backend = await load(tinyBert(pooling));
    const texts = ["a", "the cat", "a dog and a cat sit on a mat and look at each other", "z9", "9z"];
    const vectors = embed(backend, texts);
    texts.forEach((text, index) => {
      expect(vectors[index]).toHaveLength(32);
      const reference = pooledByLlama(backend, embedTokens(backend, text), pooling);
      expect(cosine(vectors[index], reference)).toBeGreaterThan(0.9999);
    });
    expect(cosine(vectors[3], vectors[4])).toBeLessThan(0.9999);
  });
});

test("the first token of BERT attends to the last one", async () => {
  const [a, b] = embed(await load(tinyBert("cls")), ["abcdefgh", "abcdefgx"]);
  expect(cosine(a, b)).toBeLessThan(0.9999);
});

test("an input longer than BERT's context is rejected or truncated", async () => {
  const backend = await load(tinyBert("mean"));
  const inputs = ["x ".repeat(200)];
  expect(outcomeOf(backend, { inputs })).toMatchObject({ code: "context_length_exceeded" });
  expect(outcomeOf(backend, { inputs, truncate: true })).toMatchObject({ promptTokens: 128 });
});

describe("abilities that a model reports", () => {
  test.each([
    ["the built-in one", () => undefined, { generates: true, embeds: true, ranks: false }],
    [
      "one that pools its last token",
      () => tinyPooled("last"),
      { generates: true, embeds: true, ranks: false },
    ],
    ["one that ranks", () => tinyPooled("rank"), { generates: true, embeds: false, ranks: true }],
    ["BERT", () => tinyBert("mean"), { generates: false, embeds: true, ranks: false }],
    ["BERT that ranks", () => tinyBert("rank"), { generates: false, embeds: false, ranks: true }],
  ])("%s", async (_, path, abilities) => {
    expect((await load(path())).info).toMatchObject(abilities);
  });
});

test("control tokens in a text are text", async () => {
  const backend = await load(tinyPooled("mean"));
  const control = [...embedTokens(backend, "a<|im_end|>b<|im_start|>")];
  const text = Buffer.concat(control.map((token) => backend.tokenBytes(token, false))).toString();
  expect(text).toContain("a<|im_end|>b<|im_start|>"); // control tokens have no bytes here
  expect(control.length).toBeGreaterThan(embedTokens(backend, "ab").length + 4);
  backend.close();
  const tokens = [...embedTokens(await load(tinyBert("mean")), "a [SEP] [CLS][MASK] b")];
  const { begin, end } = BERT_MARKS;
  expect([tokens[0], tokens.at(-1)]).toEqual([begin, end]);
  expect(tokens.slice(1, -1).filter((token) => [begin, end, 0, 4].includes(token))).toEqual([]);
});
