// Whether a model fits, by its file.

import { describe, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { boolField, stringField, u32Field, writeGguf } from "../../src/lora/gguf-write.ts";
import type { Field } from "../../src/core/gguf.ts";
import { FIELD } from "../../src/core/gguf.ts";
import { ENCODER_PROCESS_BYTES, ENGINE_PROCESS_BYTES } from "../../src/engine/limits.ts";
import { checkMemory, memoryNeed, tokenTable } from "../../src/engine/memory-fit.ts";
import { TEXT_OPTIONS as OPTIONS } from "../helpers/text-options.ts";
import { tempDir } from "../helpers/tmp.ts";

/** u32 array field. */
function counts(key: string, values: readonly number[]): Field {
  const raw = Buffer.alloc(12 + 4 * values.length);
  raw.writeUInt32LE(FIELD.u32, 0);
  raw.writeBigUInt64LE(BigInt(values.length), 4);
  values.forEach((value, i) => raw.writeUInt32LE(value, 12 + 4 * i));
  return { key, type: FIELD.array, raw };
}

/** A model of 10 layers with 2 key-value heads of 64 values, or with what `extra` says; no tensors. */
function model(...extra: readonly Field[]): string {
  const file = join(tempDir(), "m.gguf");
  const keys = new Set(extra.map(({ key }) => key));
  const fields = [
    stringField("general.architecture", "toy"),
    u32Field("toy.block_count", 10),
    u32Field("toy.context_length", 4096),
    u32Field("toy.embedding_length", 512),
    u32Field("toy.feed_forward_length", 1024),
    u32Field("toy.attention.head_count", 8),
    u32Field("toy.attention.head_count_kv", 2),
    counts(
      "tokenizer.ggml.tokens",
      Array.from({ length: 1000 }, () => 0),
    ),
  ];
  writeGguf(file, [...fields.filter(({ key }) => !keys.has(key)), ...extra], []);
  return file;
}

describe("memory of a model", () => {
  test("is its file, its cache and a batch of logits and activations", () => {
    const file = model();
    expect(memoryNeed(file, { ...OPTIONS, contextLen: 1024 }, 1e9)).toEqual({
      weights: statSync(file).size,
      layers: 10,
      cells: 1024,
      cache: 1024 * 10 * 2 * 128 * 2,
      compute: 32 * 1000 * 4 + 512 * ((512 + 1024) * 4 + 1024 * 2),
      companions: 0,
      process: ENGINE_PROCESS_BYTES,
    });
  });

  test("an encoder has no logits, and attends within a micro-batch", () => {
    const file = model(boolField("toy.attention.causal", false));
    const { compute, process } = memoryNeed(file, { ...OPTIONS, contextLen: 1024 }, 1e9) ?? {};
    expect([compute, process]).toEqual([512 * ((512 + 1024) * 4 + 512 * 2), ENCODER_PROCESS_BYTES]);
  });

  test("the table of tokens counts twice where it is the output, too: not in an encoder", () => {
    const tensor = { name: "token_embd.weight", shape: [8, 100], type: 0, offset: 0 };
    const tableOf = (causal: Field): unknown =>
      tokenTable([{ fields: new Map([[causal.key, causal]]), tensors: new Map([[tensor.name, tensor]]) }]);
    const key = "toy.attention.causal";
    expect(tableOf(boolField(key, true))).toEqual({ bytes: 3200, isOutput: true });
    expect(tableOf(boolField(key, false))).toEqual({ bytes: 3200, isOutput: false });
  });

  test("an unconfigured cache counts with its minimum", () => {
    expect(memoryNeed(model(), OPTIONS, 1e9)?.cells).toBe(256);
    expect(memoryNeed(model(), { ...OPTIONS, memoryFraction: 0.5 }, 1e9)?.cells).toBeGreaterThan(90_000);
  });

  test("heads may differ by layer and have explicit lengths", () => {
    const file = model(
      counts("toy.attention.head_count_kv", [1, 0, 3]),
      u32Field("toy.attention.key_length", 100),
      u32Field("toy.attention.value_length", 28),
    );
    expect(memoryNeed(file, { ...OPTIONS, contextLen: 256 }, 1e9)?.cache).toBe(256 * 4 * 128 * 2);
  });

  test.each(["attention.sliding_window", "ssm.state_size"])(
    "an architecture that is not known, with %s, keeps less than one could tell: nothing is claimed",
    (key) => {
      const file = model(u32Field(`toy.${key}`, 16));
      expect(memoryNeed(file, { ...OPTIONS, contextLen: 256 }, 1e9)?.cache).toBe(0);
      // A size in bytes says nothing of cells then.
      expect(memoryNeed(file, { ...OPTIONS, memoryBytes: 1e9 }, 1e9)?.cells).toBe(4 * 4096);
    },
  );

  test("compressed keys contain the values", () => {
    const file = model(
      u32Field("toy.attention.key_length", 100),
      u32Field("toy.attention.key_length_mla", 30),
      u32Field("toy.attention.head_count_kv", 1),
    );
    expect(memoryNeed(file, { ...OPTIONS, contextLen: 256 }, 1e9)?.cache).toBe(256 * 10 * 100 * 2);
  });

  test("all parts of a split file count; a file without metadata has no need", () => {
    const file = model();
    const folder = tempDir();
    const parts = [1, 2].map((part) => join(folder, `m-0000${part}-of-00002.gguf`));
    const bytes = readFileSync(file);
    writeFileSync(parts[0] ?? "", bytes);
    writeFileSync(parts[1] ?? "", new Uint8Array(5000));
    expect(memoryNeed(parts[0] ?? "", OPTIONS, 1e9)?.weights).toBe(bytes.byteLength + 5000);
    expect(memoryNeed(parts[1] ?? "", OPTIONS, 1e9)).toBeUndefined();
  });
});

function refusalOf(check: () => void): string {
  try {
    check();
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
  return "";
}

describe("a model that does not fit", () => {
  test("is rejected with the numbers and the settings to change", () => {
    const options = { ...OPTIONS, modelPath: model(), contextLen: 100_000 };
    checkMemory(options, 1e9);
    expect(() => checkMemory(options, 4e8)).toThrow(
      /needs about 617\.7 MB of memory \(weights 0\.0 MB, 100000 cache cells 512\.0 MB, compute buffers 105\.7 MB\), but only 400\.0 MB are free; use context_len of at most (\d+)/,
    );
    const refusal = refusalOf(() => checkMemory(options, 4e8));
    const fitting = Number(/context_len of at most (\d+)/.exec(refusal)?.[1]);
    checkMemory({ ...options, contextLen: fitting }, 4e8);
    expect(() => checkMemory({ ...options, contextLen: fitting + 512 }, 4e8)).toThrow("free");
    expect(refusal).toContain("cache_type q8_0");
    checkMemory({ ...options, cacheType: "q8_0" }, 4e8);
  });

  test("the built-in model and unreadable files are not checked", () => {
    checkMemory(OPTIONS, 0);
    checkMemory({ ...OPTIONS, modelPath: "/nowhere.gguf" }, 0);
  });
});
