// Documents scored by a reranker with random weights, beside the formula of its head computed here.

import { afterEach, describe, expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { stringField, u32Field } from "../../src/lora/gguf-write.ts";
import { ServiceError } from "../../src/core/error.ts";
import type { RankRequest } from "../../src/core/run.ts";
import { Embedder, type EmbedOutcome } from "../../src/worker/text/embedder.ts";
import { embedTokens } from "../helpers/embed-tokens.ts";
import { rawByLlama } from "../helpers/llama-pooling.ts";
import { tinyBackend } from "../helpers/native.ts";
import { BERT_MARKS, POOLING, rankHead, tinyBert, tinyWith } from "../helpers/tiny-models.ts";

const BERT_EMBD = 32;

let open: LlamaBackend | undefined;
afterEach(() => {
  open?.close();
  open = undefined;
});

async function load(path: string): Promise<LlamaBackend> {
  return (open = await tinyBackend({ contextLen: 512, maxSeqs: 4 }, path));
}

function outcomeOf(backend: LlamaBackend, request: Omit<RankRequest, "model">): EmbedOutcome["result"] {
  const results: EmbedOutcome["result"][] = [];
  const embedder = new Embedder(
    () => backend.embedder(),
    ({ result }) => results.push(result),
  );
  embedder.add(1, { model: "default", ...request });
  while (embedder.step(5));
  const [result] = results;
  if (result === undefined) throw new Error("nothing came of it");
  return result;
}

function scores(backend: LlamaBackend, query: string, documents: readonly string[]): readonly number[] {
  const result = outcomeOf(backend, { query, documents, truncate: false });
  if (result instanceof ServiceError) throw result;
  return result.vectors.map(([score = Number.NaN]) => score);
}

/** Dense layer, tangent, output, logistic function: the head of BERT's cross-encoders over the first token's vector. */
function scoreOf(first: Float32Array): number {
  const [dense, output] = rankHead();
  const linear = (
    weight: readonly (readonly number[])[],
    bias: readonly number[],
    input: ArrayLike<number>,
  ) => weight.map((row, o) => row.reduce((sum, w, i) => sum + w * (input[i] ?? 0), bias[o] ?? 0));
  const hidden = linear(dense.weight, dense.bias, first).map(Math.tanh);
  const [logit = Number.NaN] = linear(output.weight, output.bias, hidden);
  return 1 / (1 + Math.exp(-logit));
}

const pair = (query: string, document: string) => ({ query, document, truncate: false });
const QUERY = "what is a cat";
const DOCUMENTS = ["a cat is an animal", "bread", "the dog and the cat sit on the mat", "z9", "cats"];

describe("a reranker", () => {
  test("scores by its head over the first token of the pair, at any batch size", async () => {
    const backend = await load(tinyBert("rank"));
    const found = scores(backend, QUERY, DOCUMENTS);
    const expected = DOCUMENTS.map((document) =>
      scoreOf(rawByLlama(backend, embedTokens(backend, pair(QUERY, document)), "cls", BERT_EMBD)),
    );
    expected.forEach((score, index) => expect(found[index]).toBeCloseTo(score, 4));
    expect(Math.max(...found) - Math.min(...found)).toBeGreaterThan(0.01); // it tells them apart
  });

  test("reads query and document, each followed by the separator", async () => {
    const backend = await load(tinyBert("rank"));
    const { begin, end } = BERT_MARKS;
    const text = (words: string) => [...embedTokens(backend, words)].slice(1, -1);
    expect([...embedTokens(backend, pair("a cat", "a dog"))]).toEqual([
      begin,
      ...text("a cat"),
      end,
      ...text("a dog"),
      end,
    ]);
  });

  test("treats separators in texts as text", async () => {
    const backend = await load(tinyBert("rank"));
    const tokens = [...embedTokens(backend, pair("a [SEP] b", "[CLS] c"))];
    expect(tokens.filter((token) => token === BERT_MARKS.begin)).toHaveLength(1);
    expect(tokens.filter((token) => token === BERT_MARKS.end)).toHaveLength(2);
  });

  test("rejects a pair longer than its context, naming the document, or truncates the document", async () => {
    const backend = await load(tinyBert("rank"));
    const documents = ["short", "x".repeat(200)];
    expect(outcomeOf(backend, { query: QUERY, documents, truncate: false })).toMatchObject({
      code: "context_length_exceeded",
      param: "documents[1]",
    });
    const cut = embedTokens(backend, { query: QUERY, document: "x".repeat(200), truncate: true });
    expect(cut).toHaveLength(128);
    expect(cut.at(-1)).toBe(BERT_MARKS.end);
    expect(outcomeOf(backend, { query: QUERY, documents, truncate: true })).toMatchObject({
      vectors: [expect.anything(), expect.anything()],
    });
  });

  test("reads at most max_tokens_per_doc of a document", async () => {
    const backend = await load(tinyBert("rank"));
    const whole = embedTokens(backend, pair("a", "bcde"));
    const cut = embedTokens(backend, { ...pair("a", "bcdefgh"), documentTokens: 4 });
    expect([...cut]).toEqual([...whole]);
  });
});

describe("a reranker with a prompt template", () => {
  const FORM = "<|im_start|>user\nQ: {query}\nD: {document}<|im_end|>\n";

  const withForm = () =>
    tinyWith("tiny-rank-form", [
      u32Field("llama.pooling_type", POOLING.rank),
      stringField("tokenizer.chat_template.rerank", FORM),
    ]);

  test("renders the pair; only the template has control tokens, and texts cannot contain its placeholders", async () => {
    const backend = await load(withForm());
    const tokens = [...embedTokens(backend, pair("cats", "a {query} <|im_end|>"))];
    const text = Buffer.concat(tokens.map((token) => backend.tokenBytes(token, true))).toString();
    expect(text).toBe("<|im_start|>user\nQ: cats\nD: a {query} <|im_end|><|im_end|>\n");
    const bare = embedTokens(backend, pair("", ""));
    for (const mark of [bare[0], bare.at(-2)]) expect(tokens.filter((one) => one === mark)).toHaveLength(1);
  });
});
