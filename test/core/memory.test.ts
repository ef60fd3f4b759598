// Reading GGUF metadata, sizing the cache, and what memory is free.

import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";
import { cacheCells, type CacheRequest, cellBytes } from "../../src/core/cache-size.ts";
import { freeMemory } from "../../src/core/free-memory.ts";
import { arrayLength, readFields, textOf, unsigned } from "../../src/core/gguf.ts";
import { readGgufHeader } from "../../src/core/gguf-file.ts";
import { TINY_FILE } from "../helpers/binary.ts";
import { tempDir } from "../helpers/tmp.ts";

describe("the metadata of a GGUF file", () => {
  test("is read without its tensors", () => {
    const fields = readGgufHeader(TINY_FILE).fields;
    const of = (key: string) => {
      const field = fields.get(key);
      if (field === undefined) throw new Error(`${key} is missing`);
      return field;
    };
    const architecture = textOf(of("general.architecture"));
    expect(architecture).toBeString();
    expect(unsigned(of(`${architecture}.block_count`))).toBeGreaterThan(0);
    expect(textOf(of(`${architecture}.block_count`))).toBeUndefined();
    expect(unsigned(of("general.architecture"))).toBeUndefined();
    expect(arrayLength(of("tokenizer.ggml.tokens"))).toBe(2048);
  });

  test("a truncated or foreign file is an error", () => {
    const file = join(tempDir(), "x.gguf");
    const whole = new Uint8Array(32);
    whole.set(new TextEncoder().encode("GGUF\u0003"));
    whole[16] = 5; // fields
    writeFileSync(file, whole);
    expect(() => readGgufHeader(file).fields).toThrow();
    expect(() => readFields(new TextEncoder().encode("GGML\u0003\0\0\0".padEnd(32, "\0")))).toThrow(
      "not a GGUF",
    );
  });
});

describe("the cache", () => {
  const shape = { elements: 1000, trainedContext: 40_000 };
  const request: CacheRequest = { cacheType: "f16", maxSeqs: 8 };

  test.each<[string, Partial<CacheRequest>, number, number]>([
    ["the whole context", {}, 1e12, 39_936],
    ["a share of each sequence", { maxSeqs: 100 }, 1e12, 102_400],
    ["a shorter context", { maxSeqLen: 512 }, 1e12, 4096],
    ["a quarter of what is free", {}, 8_192_000, 1024],
    ["never nothing", {}, 0, 256],
    ["what was asked", { contextLen: 777 }, 0, 777],
    ["bytes", { memoryBytes: 2_048_000 }, 0, 1024],
    ["a share", { memoryFraction: 0.5 }, 4_096_000, 1024],
    ["a share of nothing: one sequence", { memoryFraction: 0, maxSeqLen: 1000 }, 4_096_000, 1024],
    ["bytes of a smaller type", { memoryBytes: 1_088_000, cacheType: "q8_0" }, 0, 1024],
  ])("%s", (_what, extra, freeBytes, cells) => {
    expect(cacheCells({ ...request, ...extra }, shape, freeBytes)).toBe(cells);
  });

  test("a cell of a model without cached data has a minimum cost", () => {
    expect(cellBytes({ elements: 0, trainedContext: 1 }, "f16")).toBe(1);
    expect(cellBytes(shape, "q4_0")).toBe(562.5);
  });
});

describe("free memory", () => {
  test("is the system's if no group has a limit", () => {
    const free = freeMemory(tempDir());
    expect(free).toBeGreaterThan(0);
    expect(free).toBeLessThan(2 * freemem());
  });

  test.each([
    ["version 2", "", "memory.max", "memory.current", "inactive_file"],
    ["version 1", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"],
  ])("is what a group's limit leaves, %s", (_version, folder, limit, usage, droppable) => {
    const root = tempDir();
    mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, folder, limit), "1000000\n");
    writeFileSync(join(root, folder, usage), "700000\n");
    expect(freeMemory(root)).toBe(300_000);
    writeFileSync(join(root, folder, "memory.stat"), `anon 1\n${droppable} 200000\n`);
    expect(freeMemory(root)).toBe(500_000);
    writeFileSync(join(root, folder, usage), "9000000\n");
    expect(freeMemory(root)).toBe(0);
    writeFileSync(join(root, folder, limit), "max\n");
    expect(freeMemory(root)).toBeGreaterThan(1_000_000);
  });

  test("the limits of the process's group and its parents apply", () => {
    const root = tempDir();
    const group = (path: string, limit: number, used: number): void => {
      mkdirSync(join(root, path), { recursive: true });
      writeFileSync(join(root, path, "memory.max"), String(limit));
      writeFileSync(join(root, path, "memory.current"), String(used));
    };
    group("system.slice", 9_000_000, 1_000_000);
    group("system.slice/svc.service", 5_000_000, 1_000_000);
    expect(freeMemory(root, "0::/system.slice/svc.service")).toBe(4_000_000);
    group("system.slice", 3_000_000, 1_000_000);
    expect(freeMemory(root, "0::/system.slice/svc.service")).toBe(2_000_000);
    mkdirSync(join(root, "memory/a"), { recursive: true });
    writeFileSync(join(root, "memory/a/memory.limit_in_bytes"), "700000");
    writeFileSync(join(root, "memory/a/memory.usage_in_bytes"), "100000");
    expect(freeMemory(root, "9:cpu:/\n4:memory:/a\n0::/")).toBe(600_000);
  });
});
