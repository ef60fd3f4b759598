// Draws from lists where passes are computed in several parts: sequences of different lengths of models with recurrent layers, caches of their
// own, more rows than a micro-batch has. The CPU counts as the device here, unless back ends are named.

import { afterEach, describe, expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { newSampler } from "../../ffi/llama/sampler.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import { architectureModel } from "../helpers/architecture-models.ts";
import { setDeviceSampling } from "../helpers/device-sampling.ts";
import { native, TINY_PATH, tinyBackend } from "../helpers/native.ts";
import { tinyHybrid } from "../helpers/tiny-heads.ts";
import { random } from "../helpers/world.ts";

const SLOTS = 8;
const PASSES = 16;
const ROWS_MOST = 5;

interface Row {
  readonly slot: number;
  readonly position: number;
  readonly token: number;
  readonly output: number;
}

type Case = readonly [title: string, file: () => string, options: Partial<TextOptions>];
const CASES: readonly Case[] = [
  ["a hybrid", () => tinyHybrid({ silent: false, head: false }), {}],
  ["a recurrent model", () => architectureModel("mamba2"), {}],
  [
    "a hybrid with windows of its own",
    () => tinyHybrid({ silent: false, head: false }),
    { pagedAttn: false },
  ],
  ["caches of their own", () => TINY_PATH, { pagedAttn: false }],
  ["windows", () => architectureModel("gemma3"), {}],
  ["small micro-batches", () => TINY_PATH, { ubatch: SLOTS }],
];

let open: LlamaBackend[] = [];
afterEach(() => {
  for (const backend of open) backend.close();
  open = [];
});

/** A context that lists, and one that copies whole rows. */
async function sides(file: string, options: Partial<TextOptions>): Promise<readonly LlamaBackend[]> {
  for (const sampling of ["cpu", "off"] as const) {
    setDeviceSampling(sampling);
    open.push(await tinyBackend({ maxSeqs: SLOTS, threads: 1, ...options }, file));
  }
  setDeviceSampling("");
  return open;
}

/** What a side draws in a pass, all rows with an output. */
function drawn(side: LlamaBackend, rows: readonly Row[], temperature: number): number[] {
  const column = (key: keyof Row): Int32Array => Int32Array.from(rows, (row) => row[key]);
  const columns = { token: column("token"), position: column("position"), slot: column("slot") };
  expect(side.decode({ ...columns, output: Int8Array.from(column("output")) }, rows.length)).toBe("done");
  const outputs = Int32Array.from(rows.keys()).filter((i) => rows[i]?.output === 1);
  const params = { ...DEFAULT_SAMPLING, topK: 8, temperature };
  const samplers = BigUint64Array.from(outputs, (choice) =>
    newSampler(native(), side.modelHandle, { params, prompt: new Int32Array(), seed: 5, choice }),
  );
  const tokens = new Int32Array(outputs.length);
  if (outputs.length > 0)
    side.sample(outputs.length, outputs, samplers, new BigUint64Array(outputs.length), tokens);
  for (const sampler of samplers) side.freeSampler(sampler as Parameters<LlamaBackend["freeSampler"]>[0]);
  return [...tokens];
}

describe.each(CASES)("%s", (_, file, options) => {
  test("the same draws and rows, in parts and as one", async () => {
    const [listing, whole] = await sides(file(), options);
    if (listing === undefined || whole === undefined) throw new Error("no contexts");
    const next = random(3);
    const ends = Array.from({ length: SLOTS }, () => 0);
    const rowsOf = (slot: number, n: number, output: () => boolean): Row[] =>
      Array.from({ length: n }, () => {
        const position = ends[slot] ?? 0;
        ends[slot] = position + 1;
        return { slot, position, token: 300 + Math.floor(next() * 900), output: output() ? 1 : 0 };
      });
    for (let pass = 0; pass < PASSES; pass++) {
      const isMixed = pass % 2 === 0;
      const each = (): number => (isMixed ? Math.floor(next() * (ROWS_MOST + 1)) : 1);
      const rows = ends.flatMap((_end, slot) => rowsOf(slot, each(), () => !isMixed || next() < 0.5));
      if (pass % 4 === 0) rows.sort((a, b) => a.position - b.position); // by turns
      if (rows.length === 0) continue;
      const before = listing.traffic().wholeRows;
      const [here, there] = [listing, whole].map((side) => drawn(side, rows, 0.8));
      expect(here).toEqual(there ?? []);
      if (!isMixed) expect(listing.traffic().wholeRows - before).toBeLessThan(SLOTS / 2);
      for (const [row, { output }] of rows.entries())
        if (output === 1) expect(listing.logits(row)).toEqual(whole.logits(row));
    }
  });
});
