// The model that bench/copier.ts constructs copies: each token of a text that stood before follows from those before it. Its
// scores of attention are far apart, as those of few models are: one of 283 comes after blocks of cells with none above 0.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { writeModel } from "../../bench/model.ts";
import { uniformSource } from "../../bench/random.ts";
import type { SlotId } from "../../src/worker/text/backend.ts";
import { tinyBackend, TINY_PATH } from "../helpers/native.ts";
import { tempDir } from "../helpers/tmp.ts";

/** The tokens before a place that tell which comes there. */
const KNOWN = 4;

let backend: LlamaBackend;

beforeAll(async () => {
  const path = join(tempDir(), "copier.gguf");
  const shape = {
    arch: "qwen3",
    embd: 256,
    layers: 3,
    heads: 4,
    kvHeads: 2,
    headDim: 128,
    ffn: 64,
    contextTokens: 2048,
    vocab: "",
    template: "",
    tied: true,
    copies: true,
  } as const;
  writeModel(path, "copier", shape, TINY_PATH);
  backend = await tinyBackend({}, path);
});

afterAll(() => backend.close());

/** Computes tokens of one sequence in passes of so many; the likeliest token after each. */
function likeliest(tokens: readonly number[], atOnce: number): (number | undefined)[] {
  const found: (number | undefined)[] = [];
  for (let from = 0; from < tokens.length; from += atOnce) {
    const token = Int32Array.from(tokens.slice(from, from + atOnce));
    const columns = {
      token,
      position: token.map((_, i) => from + i),
      slot: new Int32Array(token.length),
      output: new Int8Array(token.length).fill(1),
    };
    expect(backend.decode(columns, token.length)).toBe("done");
    for (let row = 0; row < token.length; row++) found.push(backend.logprobs(row, 0, 1).top[0]?.token);
  }
  return found;
}

test.each([256, 64, 7, 1])("copies an earlier text, %i tokens at once", (atOnce) => {
  const random = uniformSource(5);
  const text = Array.from({ length: 200 }, () => 10 + Math.floor(random() * 2000));
  const found = likeliest([...text, ...text], atOnce);
  backend.cutSlot(0 as SlotId, 0);
  expect(found.slice(text.length + KNOWN - 1, -1)).toEqual(text.slice(KNOWN));
});
