// Real adapters on the built-in model: trained by test/fixtures/lora/train.py to begin every answer with their name.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { BASE_MODEL } from "../../src/core/adapter.ts";
import { readGgufHeader } from "../../src/core/gguf-file.ts";
import { convertAdapter } from "../../src/lora/convert.ts";
import { chatRequest, runAll } from "../helpers/engine-run.ts";
import { tinyBackend, TINY_PATH } from "../helpers/native.ts";
import { tempDir } from "../helpers/tmp.ts";

const FIXTURES = join(import.meta.dir, "../fixtures/lora");
const QUESTIONS = [
  "What is the capital of France?",
  "What sound does a cat make?",
  "What is 3 + 4?",
  "Who are you?",
  "What is the capital of Japan?",
];

let backend: LlamaBackend;
const red = 1;
const blue = 2;

function converted(name: string): string {
  const path = join(tempDir(), `${name}.gguf`);
  convertAdapter([join(FIXTURES, name)], readGgufHeader(TINY_PATH), path);
  return path;
}

beforeAll(async () => {
  backend = await tinyBackend();
  backend.loadAdapter(red, converted("red"));
  backend.loadAdapter(blue, converted("blue"));
});
afterAll(() => backend.close());

const ask = (text: string) => chatRequest(text, { maxTokens: 24 });
const textOf = (answer: ReturnType<typeof runAll>[number] | undefined) =>
  Array.isArray(answer) ? answer[0]?.text : undefined;

describe("adapters", () => {
  test.each([
    ["red", "Red says: "],
    ["blue", "Blue says: "],
  ])("%s changes every answer in the way it was trained to", (name, prefix) => {
    const adapter = name === "red" ? red : blue;
    const adapters = QUESTIONS.map(() => adapter);
    for (const answer of runAll(backend, QUESTIONS.map(ask), 0, adapters)) {
      expect(textOf(answer)).toStartWith(prefix);
    }
    for (const answer of runAll(backend, QUESTIONS.map(ask))) expect(textOf(answer)).not.toContain("says: ");
  });

  test("base and two adapters at 16 streams generate the same tokens as alone", () => {
    const cases = Array.from({ length: 16 }, (_, i) => ({
      question: QUESTIONS[i % QUESTIONS.length] ?? "",
      adapter: [BASE_MODEL, red, blue][i % 3] ?? BASE_MODEL,
    }));
    const requests = cases.map(({ question }) => ask(question));
    const alone = cases.map(({ adapter }, i) => {
      const request = requests[i];
      return request === undefined ? undefined : textOf(runAll(backend, [request], 0, [adapter])[0]);
    });
    for (const prefixCacheN of [0, 8]) {
      const together = runAll(
        backend,
        requests,
        prefixCacheN,
        cases.map(({ adapter }) => adapter),
      );
      expect(together.map(textOf)).toEqual(alone);
    }
  }, 30_000);

  test("an adapter of another model is rejected with a reason; loaded adapters stay usable", () => {
    const path = join(tempDir(), "none.gguf");
    expect(() => backend.loadAdapter(3, path)).toThrow("could not be loaded");
    expect(textOf(runAll(backend, [ask("What is 3 + 4?")], 0, [red])[0])).toStartWith("Red says: ");
  });

  test("a static adapter applies to every answer and every embedding", async () => {
    const adapted = await tinyBackend({ adapterPath: converted("red") });
    try {
      const answers = runAll(adapted, QUESTIONS.map(ask)).map(textOf);
      expect(answers).toEqual(
        runAll(
          backend,
          QUESTIONS.map(ask),
          0,
          QUESTIONS.map(() => red),
        ).map(textOf),
      );
      expect(firstVector(adapted)).not.toEqual(firstVector(backend));
    } finally {
      adapted.close();
    }
  });
});

/** The embedding of one token. */
function firstVector(from: LlamaBackend): Float32Array {
  const embedder = from.embedder();
  const columns = {
    token: Int32Array.of(1),
    position: Int32Array.of(0),
    slot: Int32Array.of(0),
    output: Int8Array.of(1),
  };
  expect(embedder.decode(columns, 1)).toBe(true);
  const vector = new Float32Array(embedder.dimensions);
  embedder.addRows(Int32Array.of(0), vector);
  return vector;
}
