// What memory and cores allow a model, by the header of its file.

import { describe, expect, test } from "bun:test";
import type { Field, TensorInfo } from "../../src/core/gguf.ts";
import type { BenchRow } from "../../src/core/measure.ts";
import { passWork, readWork, weightBytes, workOf } from "../../src/core/model-work.ts";
import { limitOf } from "../../src/measure/roofline.ts";
import { stringField, u32Field } from "../../src/lora/gguf-write.ts";
import { TINY_PATH } from "../helpers/native.ts";

/** A byte a weight. */
const I8 = 24;

/** A model of two layers of 8 x 8 matrices of a byte a weight, with other tensors and fields. */
function work(more: readonly TensorInfo[], fields: readonly Field[]) {
  const matrix = (name: string, shape: readonly number[] = [8, 8]) => ({
    name,
    shape,
    type: I8,
    offset: 0,
  });
  const layer = (index: number) =>
    ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_up"].map((part) =>
      matrix(`blk.${index}.${part}.weight`, part === "attn_k" || part === "attn_v" ? [8, 4] : [8, 8]),
    );
  const all = [matrix("token_embd.weight", [8, 16]), ...layer(0), ...layer(1), ...more];
  const list = [stringField("general.architecture", "toy"), u32Field("toy.block_count", 2), ...fields];
  return workOf([
    {
      fields: new Map(list.map((one) => [one.key, one])),
      tensors: new Map(all.map((one) => [one.name, one])),
    },
  ]);
}

const LAYER = 3 * 64 + 2 * 32;

describe("work of a pass", () => {
  test("all matrices, the token table as the output, and the cells of the cache", () => {
    const found = work([], []);
    expect(found.shared).toEqual({ bytes: 2 * LAYER, products: 2 * LAYER });
    expect(found.output).toEqual({ bytes: 128, products: 128 });
    expect(found.cell).toEqual({ bytes: 2 * 2 * 4 * 2, products: 2 * 2 * 8 });
    expect(found.type).toBe(I8);
    expect(weightBytes(found)).toBe(2 * LAYER + 128);
    expect(passWork(found, { rows: 3, outputs: 0, seen: 10, read: 20 })).toEqual({
      bytes: 2 * LAYER + 20 * 32,
      products: 3 * (2 * LAYER + 10 * 32),
    });
  });

  test("an output of its own replaces the table, heads for later tokens and tables by layer do not count", () => {
    const tensor = (name: string) => ({ name, shape: [8, 8], type: I8, offset: 0 });
    const more = ["output.weight", "per_layer_token_embd.weight", "blk.2.ffn_up.weight"].map(tensor);
    const fields = [u32Field("toy.block_count", 3), u32Field("toy.nextn_predict_layers", 1)];
    const found = work(more, fields);
    expect(found.shared.bytes).toBe(2 * LAYER);
    expect(found.output).toEqual({ bytes: 64, products: 64 });
  });

  test("rows share experts, and windows hide cells", () => {
    const experts = { name: "blk.0.ffn_up_exps.weight", shape: [8, 8, 4], type: I8, offset: 0 };
    const fields = [
      u32Field("toy.expert_count", 4),
      u32Field("toy.expert_used_count", 2),
      u32Field("toy.attention.sliding_window", 5),
    ];
    const found = work([experts], fields);
    expect(found.experts).toEqual({ bytes: 256, products: 256, used: 2, count: 4 });
    const pass = (rows: number) => passWork(found, { rows, outputs: 0, seen: 100, read: 100 * rows });
    expect(pass(1).bytes).toBe(2 * LAYER + 128 + 5 * 32);
    expect(pass(2).bytes).toBe(2 * LAYER + 192 + 10 * 32);
    expect(pass(2).products).toBe(2 * (2 * LAYER + 128 + 5 * 32));
  });

  test("of a real file: no more bytes than it has, and those of most of its weights", () => {
    const bytes = weightBytes(readWork(TINY_PATH));
    const { size } = Bun.file(TINY_PATH);
    expect(bytes).toBeLessThan(size);
    expect(bytes).toBeGreaterThan(size / 2);
  });
});

describe("limit of a row", () => {
  const found = work([], []);
  const row = (test: BenchRow["test"], tokens: number, concurrency: number, mean: number): BenchRow => ({
    test,
    tokens,
    depth: 0,
    concurrency,
    repetitions: 1,
    steady: true,
    tokens_per_second: { mean, sd: 0 },
  });

  test("answers by memory, as many tokens a pass as there are sequences", () => {
    const speed = { bytes_per_second: 6400, products_per_second: 1e9 };
    // 640 bytes of weights, and 32 for the one cell that is seen on average.
    expect(limitOf(row("answer", 2, 1, 5), found, 512, speed)).toEqual({
      tokens_per_second: 6400 / 672,
      by: "memory",
      share: (5 * 672) / 6400,
    });
    const eight = limitOf(row("answer", 2, 8, 5), found, 512, speed);
    expect(eight.tokens_per_second).toBeCloseTo((6400 * 8) / (640 + 256));
  });

  test("prompts by cores, except where a micro-batch has few rows", () => {
    const speed = { bytes_per_second: 6400, products_per_second: 6400 };
    expect(limitOf(row("prompt", 64, 1, 5), found, 64, speed).by).toBe("cores");
    const slow = { bytes_per_second: 640, products_per_second: 6400 };
    expect(limitOf(row("prompt", 64, 1, 5), found, 1, slow).by).toBe("memory");
  });
});
