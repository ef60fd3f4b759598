// What is named to a user whose model does not fit: each way alone must free what is missing.

import { describe, expect, test } from "bun:test";
import { elementBytes } from "../../src/core/cache-size.ts";
import { cellsThatFit, type Shortage, waysToFit } from "../../src/core/shortage.ts";

const GIB = 2 ** 30;
/** 64 contexts of 8,192 tokens of a model with 8 key-value heads of 128 in 36 layers. */
const SESSIONS = { cacheType: "f16", contextLen: 64 * 8192, maxSeqs: 64, ubatch: 1024 } as const;
const CELL = 36 * 8 * 256 * 2;
const SHORT: Shortage = {
  missing: 20 * GIB,
  cache: SESSIONS.contextLen * CELL,
  cells: SESSIONS.contextLen,
  cellBytes: CELL + 1024 * 2,
  compute: 3 * GIB,
};

describe("ways to fit", () => {
  test("a smaller context frees what is missing, and says how many of the sequences it has room for", () => {
    const cells = cellsThatFit(SHORT);
    expect((SHORT.cells - cells) * SHORT.cellBytes).toBeGreaterThanOrEqual(SHORT.missing);
    expect((SHORT.cells - cells - 256) * SHORT.cellBytes).toBeLessThan(SHORT.missing);
    const room = Math.floor(cells / 8192);
    expect(waysToFit(SHORT, SESSIONS)[0]).toBe(
      `context_len of at most ${cells}, which is ${room} of 64 sequences with 8192 tokens`,
    );
    const { contextLen: _, ...unsized } = SESSIONS;
    expect(waysToFit(SHORT, unsized)[0]).toBe(`context_len of at most ${cells}`);
  });

  test("the best smaller type that frees enough; none where none does, or where it is in use", () => {
    const typeOf = (missing: number, cacheType: "f16" | "q8_0" | "q4_0" = "f16"): string | undefined =>
      waysToFit({ ...SHORT, missing }, { ...SESSIONS, cacheType }).find((way) =>
        way.startsWith("cache_type"),
      );
    const frees = (type: "q8_0" | "q4_0"): number => SHORT.cache * (1 - elementBytes(type) / 2);
    expect(typeOf(frees("q8_0"))).toStartWith("cache_type q8_0, which takes ");
    expect(typeOf(frees("q8_0") + 1)).toStartWith("cache_type q4_0, which takes ");
    expect(typeOf(frees("q4_0") + 1)).toBeUndefined();
    expect(typeOf(1, "q8_0")).toStartWith("cache_type q4_0");
    expect(typeOf(1, "q4_0")).toBeUndefined();
  });

  test("smaller micro-batches where their buffers are what is missing, layers where some fit", () => {
    expect(waysToFit({ ...SHORT, missing: GIB }, SESSIONS)).toContain("ubatch of at most 512");
    expect(waysToFit({ ...SHORT, missing: 2 * GIB }, SESSIONS)).toContain("ubatch of at most 256");
    expect(waysToFit({ ...SHORT, missing: 3 * GIB }, SESSIONS).join()).not.toContain("ubatch");
    expect(waysToFit({ ...SHORT, layersThatFit: 20 }, SESSIONS).at(-1)).toBe(
      "device_layers of at most 20, the rest on the CPU",
    );
    expect(waysToFit({ ...SHORT, layersThatFit: 0 }, SESSIONS).join()).not.toContain("device_layers");
  });

  test("of states, which do not grow with cells, fewer sequences", () => {
    const states = { ...SHORT, cellBytes: 0, cache: 40 * GIB };
    expect(waysToFit(states, SESSIONS)[0]).toBe("max_seqs of at most 32");
    expect(waysToFit({ ...states, missing: 50 * GIB }, { ...SESSIONS, cacheType: "q4_0" })).toEqual([]);
  });
});
