// Attention over a cache that many sequences share (ffi/kernels/attention.h): whoever else is computed in
// the same pass, and wherever cells lie, a sequence sees its own.

import { expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { uniformSource } from "../../bench/random.ts";
import type { RowLogprobs, SlotId } from "../../src/worker/text/backend.ts";
import { tinyBackend } from "../helpers/native.ts";

const TOP = 5;
/** Sums in another order, and weights of the cache in F16, may make so much of a difference, in nats. */
const TOLERANCE = 0.12;

interface Part {
  readonly slot: number;
  readonly tokens: readonly number[];
  /** Position of the first. */
  readonly from: number;
}

/** Computes parts of sequences in one pass; the most likely tokens after each part. */
function pass(backend: LlamaBackend, parts: readonly Part[]): RowLogprobs[] {
  const rows = parts.flatMap(({ slot, tokens, from }) =>
    tokens.map((token, i) => ({ token, slot, position: from + i, last: i === tokens.length - 1 })),
  );
  const columns = {
    token: Int32Array.from(rows, ({ token }) => token),
    position: Int32Array.from(rows, ({ position }) => position),
    slot: Int32Array.from(rows, ({ slot }) => slot),
    output: Int8Array.from(rows, ({ last }) => (last ? 1 : 0)),
  };
  expect(backend.decode(columns, rows.length)).toBe("done");
  return rows.flatMap(({ last }, row) => (last ? [backend.logprobs(row, 0, TOP)] : []));
}

function forget(backend: LlamaBackend, slots: number): void {
  for (let slot = 0; slot < slots; slot++) backend.cutSlot(slot as SlotId, 0);
}

function expectClose(found: RowLogprobs | undefined, wanted: RowLogprobs | undefined): void {
  const [best] = wanted?.top ?? [];
  const same = found?.top.find(({ token }) => token === best?.token);
  expect(Math.abs((same?.logprob ?? -Infinity) - (best?.logprob ?? 0))).toBeLessThan(TOLERANCE);
}

test.each([
  ["a prompt beside nine sequences that decode, whose cells lie between each other", [100]],
  ["two prompts, each more than a tile, and decode rows", [130, 70]],
  ["many short prompts that fill a tile together", [9, 20, 5, 31, 12]],
])("%s", async (_, lengths) => {
  const backend = await tinyBackend();
  try {
    const random = uniformSource(7);
    const text = (length: number): number[] => Array.from({ length }, () => 10 + Math.floor(random() * 900));
    const running = Array.from({ length: 9 }, (_, slot) => ({ slot, tokens: text(40) }));
    const prompts = lengths.map((length, i) => ({ slot: 9 + i, tokens: text(length), from: 0 }));
    for (let i = 0; i < 39; i++)
      pass(
        backend,
        running.map(({ slot, tokens }) => ({ slot, tokens: tokens.slice(i, i + 1), from: i })),
      );
    const lasts = running.map(({ slot, tokens }) => ({ slot, tokens: tokens.slice(39), from: 39 }));
    const together = pass(backend, [...lasts, ...prompts]);
    forget(backend, 9 + lengths.length);
    [...running.map((one) => ({ ...one, from: 0 })), ...prompts].forEach((part, i) => {
      expectClose(together[i], pass(backend, [part])[0]);
      forget(backend, 9 + lengths.length);
    });
  } finally {
    backend.close();
  }
});

test.each(["f16", "q8_0"] as const)(
  "attention of a prompt over a cache of %s is equal in one pass, in small tiles and without tiles",
  async (cacheType) => {
    const backend = await tinyBackend({ cacheType });
    try {
      const random = uniformSource(3);
      const tokens = Array.from({ length: 120 }, () => 10 + Math.floor(random() * 900));
      const inPieces = (length: number): RowLogprobs | undefined => {
        let last: RowLogprobs | undefined;
        for (let from = 0; from < tokens.length; from += length)
          [last] = pass(backend, [{ slot: 0, tokens: tokens.slice(from, from + length), from }]);
        forget(backend, 1);
        return last;
      };
      const whole = inPieces(tokens.length);
      for (const length of [63, 40, 17, 8, 7, 1]) expectClose(inPieces(length), whole);
    } finally {
      backend.close();
    }
  },
);
