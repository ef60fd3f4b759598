// An adapter of single experts in the native library: what it computes is what merged weights compute.

import { expect, test } from "bun:test";
import { join } from "node:path";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { readGgufHeader } from "../../src/core/gguf-file.ts";
import { convertAdapter } from "../../src/lora/convert.ts";
import type { SlotId } from "../../src/worker/text/backend.ts";
import { tinyBackend } from "../helpers/native.ts";
import { CONFIG, type FakeTensors, formula, safetensors, writeAdapter } from "../helpers/peft.ts";
import { tinyExperts } from "../helpers/tiny-experts.ts";
import { tempDir } from "../helpers/tmp.ts";

const RANK = 2;
const WIDTH = 256;
const SLOT = 0 as SlotId;
const SCALE = CONFIG.lora_alpha / RANK;

/** Small updates of the gates of two experts. */
const factors = [1, 3].map((expert) => ({
  expert,
  a: formula([RANK, WIDTH], expert),
  b: formula([WIDTH, RANK], expert + 5),
}));

function adapter(): FakeTensors {
  return Object.fromEntries(
    factors.flatMap(({ expert, a, b }) => {
      const stem = `model.layers.0.mlp.experts.${expert}.gate_proj`;
      return [
        [`${stem}.lora_A.weight`, a],
        [`${stem}.lora_B.weight`, b],
      ];
    }),
  );
}

/** B·A at an element of the stacked tensor. */
function update(index: number): number {
  const expert = Math.floor(index / (WIDTH * WIDTH));
  const found = factors.find((one) => one.expert === expert);
  if (found === undefined) return 0;
  const row = Math.floor(index / WIDTH) % WIDTH;
  const column = index % WIDTH;
  let sum = 0;
  for (let r = 0; r < RANK; r++)
    sum += (found.b.values[row * RANK + r] ?? 0) * (found.a.values[r * WIDTH + column] ?? 0);
  return SCALE * sum;
}

/** The embeddings of tokens that reach all experts. */
function vectors(backend: LlamaBackend): Float32Array {
  const embedder = backend.embedder();
  const out = new Float32Array(16 * embedder.dimensions);
  for (let token = 0; token < 16; token++) {
    const columns = {
      token: Int32Array.of(20 + token),
      position: Int32Array.of(0),
      slot: Int32Array.of(SLOT),
      output: Int8Array.of(1),
    };
    expect(embedder.decode(columns, 1)).toBe(true);
    embedder.addRows(
      Int32Array.of(0),
      out.subarray(token * embedder.dimensions, (token + 1) * embedder.dimensions),
    );
    embedder.clearSlot(SLOT);
  }
  return out;
}

function distance(a: Float32Array, b: Float32Array): number {
  const of = (values: (i: number) => number): number =>
    Math.sqrt(a.reduce((sum, _, i) => sum + values(i) ** 2, 0));
  return of((i) => (a[i] ?? 0) - (b[i] ?? 0)) / of((i) => a[i] ?? 0);
}

test("experts with an adapter equal merged weights", async () => {
  const base = tinyExperts();
  const path = join(tempDir(), "adapter.gguf");
  const folder = writeAdapter(join(tempDir(), "adapter"), safetensors(adapter()));
  convertAdapter([folder], readGgufHeader(base), path);
  const computed = async (model: string, options: object = {}): Promise<Float32Array> => {
    const backend = await tinyBackend(options, model);
    try {
      return vectors(backend);
    } finally {
      backend.close();
    }
  };
  const plain = await computed(base);
  const adapted = await computed(base, { adapterPath: path });
  const merged = await computed(tinyExperts({ "blk.0.ffn_gate_exps.weight": update }));
  expect(distance(merged, plain)).toBeGreaterThan(0.05);
  expect(distance(merged, adapted)).toBeLessThan(0.01);
});
