import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringField, TENSOR, u32Field, writeGguf } from "../../src/lora/gguf-write.ts";
import { normalSource } from "../../bench/random.ts";
import { type Field, int32Array, readFields } from "../../src/core/gguf.ts";

const DEMO_MODEL = join(import.meta.dir, "../../demo-model/tiny.gguf");

function written(fields: readonly Field[], values: Uint8Array): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), "svc-gguf-"));
  try {
    const path = join(folder, "made.gguf");
    writeGguf(path, fields, [
      {
        name: "a",
        shape: [3],
        type: TENSOR.f16,
        chunks: () => [values.subarray(0, 2), values.subarray(2, 6)],
      },
      { name: "b", shape: [1, 2], type: TENSOR.f32, chunks: () => [values.subarray(0, 8)] },
    ]);
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("fields of a real file are read and written byte for byte", () => {
  const fields = readFields(readFileSync(DEMO_MODEL));
  expect(fields.map((field) => field.key)).toContain("tokenizer.ggml.tokens");
  const types = fields.find((field) => field.key === "tokenizer.ggml.token_type");
  expect(types === undefined ? 0 : int32Array(types).length).toBe(2048);
  const again = readFields(written(fields, new Uint8Array(8)));
  expect(again.map((field) => field.key)).toEqual(fields.map((field) => field.key));
  expect(
    again.every((field, index) => Buffer.compare(field.raw, fields[index]?.raw ?? new Uint8Array()) === 0),
  ).toBe(true);
});

test("tensor data starts and ends on 32-byte bounds, in order", () => {
  const values = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
  const file = written([stringField("general.architecture", "x"), u32Field("x.block_count", 1)], values);
  expect(file.byteLength % 32).toBe(0);
  expect([...file.subarray(-64, -56)]).toEqual([1, 2, 3, 4, 5, 6, 0, 0]);
  expect([...file.subarray(-32, -22)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 0, 0]);
});

test("a tensor with data of another size is rejected", () => {
  expect(() => written([], new Uint8Array(5))).toThrow("do not fit its shape");
});

test("random weights are reproducible and have the requested deviation", () => {
  const draw = (): Float16Array => {
    const source = normalSource(1);
    const bits = new Uint16Array(100_001);
    source.fill(bits, source.halfTable(0.25));
    return new Float16Array(bits.buffer);
  };
  const values = draw();
  expect(values).toEqual(draw());
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + value * value, 0) / values.length;
  expect(Math.abs(mean)).toBeLessThan(0.005);
  expect(Math.sqrt(variance)).toBeCloseTo(0.25, 2);
});
