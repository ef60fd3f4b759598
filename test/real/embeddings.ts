// A real embedding model: tokens of 17 languages as BERT makes them, and vectors as its published formula gives them.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { WordPieces } from "../../ffi/llama/bert-text.ts";
import { newFolder } from "../helpers/binary.ts";
import { vocabularyFields, writeMiniLm } from "./minilm.ts";
import { FILES, realFile } from "./models.ts";
import { memoryOf, type RealServer, serveReal } from "./server.ts";

const VOCABULARY = (await realFile(FILES.bertVocabulary)) ?? "";
const WEIGHTS = (await realFile(FILES.minilm)) ?? "";

const kept = (name: string): string => readFileSync(join(import.meta.dir, name), "utf8");
const texts: readonly [language: string, text: string, ids: readonly number[]][] = JSON.parse(
  kept("bert-tokens.json"),
);
/** By language, made by minilm.py. */
const vectors: Readonly<Record<string, string>> = JSON.parse(kept("minilm-vectors.json"));

function cosine(a: readonly number[], b: Int8Array): number {
  const dot = (x: ArrayLike<number>, y: ArrayLike<number>): number =>
    Array.from(x).reduce((sum, value, at) => sum + value * (y[at] ?? NaN), 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

describe.skipIf(VOCABULARY === "" || WEIGHTS === "")("all-MiniLM-L6-v2", () => {
  let server: RealServer;
  let pieces: WordPieces | undefined;
  beforeAll(async () => {
    pieces = WordPieces.of(new Map(vocabularyFields(VOCABULARY).map((field) => [field.key, field])));
    const path = join(newFolder(), "minilm.gguf");
    writeMiniLm(path, WEIGHTS, VOCABULARY);
    server = await serveReal(path);
  });
  afterAll(async () => void (await server.stop()));

  test.each(texts.map(([language, text, ids]) => ({ language, text, ids })))(
    "$language: tokens and vector",
    async ({ language, text, ids }) => {
      expect([...(pieces?.encode(text) ?? [])]).toEqual([...ids]);
      const { data, usage } = await server.post("/v1/embeddings", { input: text });
      expect(usage.prompt_tokens).toBe(ids.length);
      const expected = new Int8Array(Buffer.from(vectors[language] ?? "", "base64"));
      const likeness = cosine(data[0].embedding, expected);
      console.log(`${language}: ${likeness.toFixed(5)} to the reference`);
      expect(likeness).toBeGreaterThan(0.999);
    },
  );

  test("the memory that is shown is what the engine takes", async () => {
    const fresh = await memoryOf(server, "MiniLM, after short texts");
    const input = Array.from({ length: 32 }, (_, at) => `${at} ${"many words of a long text ".repeat(60)}`);
    await server.post("/v1/embeddings", { input });
    const used = await memoryOf(server, "MiniLM, after long texts");
    expect(used.most).toBeLessThan(1.4 * used.taken); // the heap of one run is half that of another
    for (const { shown, taken, most } of [fresh, used]) {
      expect(Math.abs(shown / taken - 1)).toBeLessThan(0.1);
      expect(taken).toBeLessThan(1.1 * most);
    }
  });
});
