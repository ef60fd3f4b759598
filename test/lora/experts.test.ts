// Adapters of a mixture of experts, and adapters that are GGUF files, without the native library.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readGgufHeader } from "../../src/core/gguf-file.ts";
import { convertAdapter } from "../../src/lora/convert.ts";
import { f32Field, stringField, TENSOR, writeGguf } from "../../src/lora/gguf-write.ts";
import { baseHeader, type FakeTensors, formula, safetensors, writeAdapter } from "../helpers/peft.ts";
import { tempDir } from "../helpers/tmp.ts";
import { f32Tensor } from "../helpers/tiny-tensors.ts";

const BASE = baseHeader("qwen3moe", {
  "blk.0.ffn_gate_exps.weight": [8, 6, 3],
  "blk.0.ffn_down_exps.weight": [6, 8, 3],
  "blk.0.ffn_gate_inp.weight": [8, 3],
});
const EXPERTS = "base_model.model.model.layers.0.mlp.experts";

function pair(module: string, inputs: number, outputs: number): FakeTensors {
  return {
    [`${module}.lora_A.weight`]: formula([2, inputs], 1),
    [`${module}.lora_B.weight`]: formula([outputs, 2], 2),
  };
}

function converted(tensors: FakeTensors): string {
  const output = join(tempDir(), "out.gguf");
  convertAdapter([writeAdapter(join(tempDir(), "adapter"), safetensors(tensors))], BASE, output);
  return output;
}

/** Values of a tensor of 32-bit floats. */
function valuesOf(path: string, name: string): readonly number[] {
  const found = readGgufHeader(path).tensors.get(name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  const count = found.shape.reduce((product, axis) => product * axis, 1);
  const bytes = readFileSync(path).subarray(found.offset, found.offset + 4 * count);
  return [...new Float32Array(Uint8Array.from(bytes).buffer)];
}

describe("experts", () => {
  test("share a tensor, with zeros for those without an update", () => {
    const path = converted({
      ...pair(`${EXPERTS}.1.gate_proj`, 8, 6),
      ...pair(`${EXPERTS}.2.down_proj`, 6, 8),
    });
    const { tensors } = readGgufHeader(path);
    expect(tensors.get("blk.0.ffn_gate_exps.weight.lora_a")?.shape).toEqual([8, 2, 3]);
    expect(tensors.get("blk.0.ffn_gate_exps.weight.lora_b")?.shape).toEqual([2, 6, 3]);
    const a = valuesOf(path, "blk.0.ffn_gate_exps.weight.lora_a");
    expect(a.slice(16, 32)).toEqual([...formula([2, 8], 1).values]);
    expect([...a.slice(0, 16), ...a.slice(32)].every((value) => value === 0)).toBe(true);
    expect(valuesOf(path, "blk.0.ffn_down_exps.weight.lora_b").slice(32)).toEqual([
      ...formula([8, 2], 2).values,
    ]);
  });

  test("have a router that can be adapted", () => {
    const path = converted(pair("model.layers.0.mlp.gate", 8, 3));
    expect([...readGgufHeader(path).tensors.keys()]).toContain("blk.0.ffn_gate_inp.weight.lora_a");
  });

  test.each([
    [`${EXPERTS}.3.gate_proj`, 8, 6, "the model has 3 experts"],
    [EXPERTS, 8, 6, "target_parameters"],
    [`${EXPERTS}.0.gate_proj`, 8, 7, "another base model"],
  ] as const)("%s, %d to %d, is refused", (module, inputs, outputs, words) => {
    expect(() => converted(pair(module, inputs, outputs))).toThrow(words);
  });
});

describe("a GGUF file", () => {
  const good = converted(pair(`${EXPERTS}.1.gate_proj`, 8, 6));

  test("is used as it is", () => {
    const output = join(tempDir(), "copy.gguf");
    convertAdapter([good], BASE, output);
    expect(readFileSync(output).equals(readFileSync(good))).toBe(true);
  });

  const fields = (extra: Readonly<Record<string, string>> = {}) => [
    ...Object.entries({
      "general.type": "adapter",
      "general.architecture": "qwen3moe",
      "adapter.type": "lora",
      ...extra,
    }).map(([key, value]) => stringField(key, value)),
    f32Field("adapter.lora.alpha", 4),
  ];
  const tensor = (name: string, ...shape: readonly number[]) => f32Tensor(name, () => 1, ...shape);
  const gate = "blk.0.ffn_gate_exps.weight";
  const ALPHA = "adapter.lora.alpha";
  const bf16 = (bits: number) => {
    const values = new Uint16Array(8 * 2 * 3).fill(0x3f80);
    values[5] = bits;
    const chunks = () => [new Uint8Array(values.buffer)];
    return [{ name: `${gate}.lora_a`, shape: [8, 2, 3], type: TENSOR.bf16, chunks }, both[1]];
  };
  const both = [tensor(`${gate}.lora_a`, 8, 2, 3), tensor(`${gate}.lora_b`, 2, 6, 3)];

  test.each([
    ["a model", fields({ "general.type": "model" }), both, "no LoRA adapter"],
    ["another architecture", fields({ "general.architecture": "llama" }), both, '"llama"'],
    ["other experts", fields(), [both[0], tensor(`${gate}.lora_b`, 2, 6, 4)], "another base model"],
    ["another rank", fields(), [both[0], tensor(`${gate}.lora_b`, 3, 6, 3)], "another base model"],
    ["one factor", fields(), [both[0]], "only one of its two factors"],
    ["an unknown weight", fields(), [tensor("x.lora_a", 8, 2), tensor("x.lora_b", 2, 6)], "has no x"],
    ["a magnitude of DoRA", fields(), [...both, tensor(`${gate}.lora_m`, 6)], "DoRA"],
    ["no tensors", fields(), [], "no LoRA tensors"],
    [
      "a factor that is no number",
      [...fields().slice(0, 3), f32Field(ALPHA, NaN)],
      both,
      "is not a finite number",
    ],
    ["an infinite factor", [...fields().slice(0, 3), f32Field(ALPHA, 1e39)], both, "is not a finite number"],
    ["a factor in words", [...fields().slice(0, 3), stringField(ALPHA, "4")], both, "is not a finite number"],
    ["an infinite value in bf16", fields(), bf16(0x7f80), "infinite or not numbers"],
    ["no number in bf16", fields(), bf16(0xffc1), "infinite or not numbers"],
  ])("with %s is refused, and leaves nothing", (_name, written, tensors, words) => {
    const file = join(tempDir(), "bad.gguf");
    writeGguf(
      file,
      written,
      tensors.filter((one) => one !== undefined),
    );
    const output = join(tempDir(), "copy.gguf");
    expect(() => convertAdapter([file], BASE, output)).toThrow(words);
    expect(existsSync(output)).toBe(false);
  });

  test("that is cut off is refused", () => {
    const file = join(tempDir(), "cut.gguf");
    writeFileSync(file, readFileSync(good).subarray(0, 100));
    expect(() => convertAdapter([file], BASE, join(tempDir(), "copy.gguf"))).toThrow("damaged");
  });
});
