import { describe, expect, test } from "bun:test";
import { hash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { type GgufHeader, textOf } from "../../src/core/gguf.ts";
import { readGgufHeader } from "../../src/core/gguf-file.ts";
import { AdapterError } from "../../src/lora/adapter-error.ts";
import { convertAdapter, describeAdapter } from "../../src/lora/convert.ts";
import reference from "../fixtures/lora/reference.json";
import { baseHeader, CONFIG, type FakeTensors, formula, safetensors, writeAdapter } from "../helpers/peft.ts";
import { tempDir } from "../helpers/tmp.ts";

const NONE = { key: "", type: 0, raw: new Uint8Array() };
const RANK = 2;
const SPLIT: Readonly<Record<string, readonly [inputs: number, outputs: number]>> = {
  "self_attn.q_proj": [32, 32],
  "self_attn.k_proj": [32, 16],
  "self_attn.v_proj": [32, 16],
  "self_attn.o_proj": [32, 32],
  "mlp.gate_proj": [32, 48],
  "mlp.up_proj": [32, 48],
  "mlp.down_proj": [48, 32],
};
const FUSED: typeof SPLIT = {
  "self_attn.qkv_proj": [32, 64],
  "self_attn.o_proj": [32, 32],
  "mlp.gate_up_proj": [32, 96],
  "mlp.down_proj": [48, 32],
};

/** The adapter of reference.py over two layers of these modules. */
function adapterOf(modules: typeof SPLIT): FakeTensors {
  const tensors: Record<string, FakeTensors[string]> = {};
  let seed = 0;
  for (const layer of [0, 1]) {
    for (const [module, [inputs, outputs]] of Object.entries(modules)) {
      const stem = `base_model.model.model.layers.${layer}.${module}`;
      tensors[`${stem}.lora_A.weight`] = formula([RANK, inputs], seed);
      tensors[`${stem}.lora_B.weight`] = formula([outputs, RANK], seed + 1);
      seed += 2;
    }
  }
  return tensors;
}

/** Data of each tensor of a GGUF file of 32-bit floats, in file order and aligned to 32 bytes. */
function dataOf(path: string): Map<string, Uint8Array> {
  const file = readFileSync(path);
  const { tensors } = readGgufHeader(path);
  const sizes = [...tensors.values()].map(({ shape }) => shape.reduce((product, axis) => product * axis, 4));
  const aligned = sizes.map((bytes) => Math.ceil(bytes / 32) * 32);
  let at = file.length - aligned.reduce((sum, bytes) => sum + bytes, 0);
  return new Map(
    [...tensors.keys()].map((name, i) => {
      const data = file.subarray(at, at + (sizes[i] ?? 0));
      at += aligned[i] ?? 0;
      return [name, data];
    }),
  );
}

/** A copy, as the bytes may lie anywhere in a larger buffer. */
const floats = (bytes: Uint8Array | undefined) => new Float32Array(Uint8Array.from(bytes ?? []).buffer);

describe("against llama.cpp's own converter", () => {
  test.each([
    ["llama", SPLIT],
    ["qwen3", SPLIT],
    ["phi3", FUSED],
  ] as const)("%s: every tensor has the same name, shape and data", (name, modules) => {
    const expected = reference[name];
    const shapes: Record<string, number[]> = {};
    for (const [tensor, { shape }] of Object.entries(expected.tensors)) {
      const stem = tensor.replace(/\.lora_[ab]$/, "");
      const [first = 0, second = 0] = shape;
      if (tensor.endsWith("a")) shapes[stem] = [first, shapes[stem]?.[1] ?? 0];
      else shapes[stem] = [shapes[stem]?.[0] ?? 0, second];
    }
    const folder = writeAdapter(join(tempDir(), "adapter"), safetensors(adapterOf(modules)));
    const output = join(tempDir(), "out.gguf");
    convertAdapter([folder], baseHeader(name, shapes), output);
    const made = readGgufHeader(output);
    expect(textOf(made.fields.get("general.architecture") ?? NONE)).toBe(expected.architecture);
    const data = dataOf(output);
    const found = Object.fromEntries(
      [...made.tensors].map(([tensor, { shape }]) => {
        const sha256 = hash("sha256", data.get(tensor) ?? "");
        return [tensor, { shape: [...shape], sha256 }];
      }),
    );
    expect<object>(found).toEqual(expected.tensors);
    expect(describeAdapter(output).rank).toBe(RANK);
  });
});

const Q = "base_model.model.model.layers.0.self_attn.q_proj";
const V = "base_model.model.model.layers.0.self_attn.v_proj";
const BASE = baseHeader("llama", {
  "blk.0.attn_q.weight": [32, 32],
  "blk.0.attn_v.weight": [32, 16],
  "token_embd.weight": [32, 64],
  "output.weight": [32, 64],
});
const pair = (module: string, a: readonly number[], b: readonly number[]): FakeTensors => ({
  [`${module}.lora_A.weight`]: formula(a, 0),
  [`${module}.lora_B.weight`]: formula(b, 1),
});
const GOOD = pair(Q, [2, 32], [32, 2]);

/** What a converted adapter adds to a weight, as llama.cpp computes it: [outputs, inputs]. */
function update(path: string, weight: string): readonly number[] {
  const { fields, tensors } = readGgufHeader(path);
  const data = dataOf(path);
  const [a, b] = ["a", "b"].map((factor) => floats(data.get(`${weight}.lora_${factor}`)));
  const [rank = 0, outputs = 0] = tensors.get(`${weight}.lora_b`)?.shape ?? [];
  const inputs = (a?.length ?? 0) / rank;
  const alpha = new DataView((fields.get("adapter.lora.alpha") ?? NONE).raw.slice().buffer).getFloat32(
    0,
    true,
  );
  const scale = alpha === 0 ? 1 : alpha / rank;
  const isLookup = weight.startsWith("token_embd");
  return Array.from({ length: outputs * inputs }, (_, i) => {
    const [row, column] = [Math.floor(i / inputs), i % inputs];
    let sum = 0;
    for (let r = 0; r < rank; r++)
      sum += (b?.[row * rank + r] ?? 0) * (a?.[isLookup ? column * rank + r : r * inputs + column] ?? 0);
    return scale * sum;
  });
}

test("several adapters become one with the sum of their updates", () => {
  const LOOKUP = "base_model.model.model.embed_tokens";
  const folders = [
    { config: { ...CONFIG, lora_alpha: 3 }, tensors: { ...GOOD, ...pair(V, [2, 32], [16, 2]) } },
    {
      config: { ...CONFIG, r: 3, use_rslora: true },
      tensors: {
        ...pair(Q, [3, 32], [32, 3]),
        [`${LOOKUP}.lora_embedding_A`]: formula([3, 64], 5),
        [`${LOOKUP}.lora_embedding_B`]: formula([32, 3], 6),
      },
    },
    {
      config: CONFIG,
      tensors: {
        [`${LOOKUP}.lora_embedding_A`]: formula([2, 64], 7),
        [`${LOOKUP}.lora_embedding_B`]: formula([32, 2], 8),
      },
    },
  ].map(({ config, tensors }, i) =>
    writeAdapter(join(tempDir(), `adapter-${i}`), safetensors(tensors), config),
  );
  const convert = (of: readonly string[]): string => {
    const output = join(tempDir(), `out-${of.length}-${of.join().length}.gguf`);
    convertAdapter(of, BASE, output);
    return output;
  };
  const together = convert(folders);
  for (const weight of ["blk.0.attn_q.weight", "blk.0.attn_v.weight", "token_embd.weight"]) {
    const alone = folders
      .map((folder) => update(convert([folder]), weight))
      .filter(({ length }) => length > 0);
    const sum = update(together, weight);
    expect(sum.length).toBeGreaterThan(0);
    const wanted = sum.map((_, i) => alone.reduce((total, one) => total + (one[i] ?? 0), 0));
    for (const [i, value] of sum.entries()) expect(value).toBeCloseTo(wanted[i] ?? 0, 4);
  }
});

interface Given {
  readonly tensors?: FakeTensors;
  readonly weights?: Uint8Array;
  readonly config?: object | string;
  readonly base?: GgufHeader;
}

function converted({ tensors = GOOD, weights, config, base = BASE }: Given): string {
  const folder = writeAdapter(join(tempDir(), "adapter"), weights ?? safetensors(tensors), config);
  const output = join(tempDir(), "out.gguf");
  convertAdapter([folder], base, output);
  return output;
}

function refusal(given: Given): string {
  try {
    converted(given);
  } catch (error) {
    if (error instanceof AdapterError) return error.message;
    throw error;
  }
  throw new Error("the adapter was accepted");
}

describe("scales", () => {
  const factor = (path: string) => {
    const b = floats(dataOf(path).get("blk.0.attn_v.weight.lora_b"));
    return (b[0] ?? 0) / (formula([16, 2], 1).values[0] ?? 1);
  };
  const V = pair("model.layers.0.self_attn.v_proj", [2, 32], [16, 2]);

  test("llama.cpp's alpha over rank equals the file's scale, or B is scaled", () => {
    expect(factor(converted({ tensors: V }))).toBe(1);
    expect(factor(converted({ tensors: V, config: { ...CONFIG, use_rslora: true } }))).toBeCloseTo(
      Math.SQRT2,
    );
    expect(
      factor(converted({ tensors: V, config: { ...CONFIG, alpha_pattern: { v_proj: 12 } } })),
    ).toBeCloseTo(3);
    expect(factor(converted({ tensors: V, config: { ...CONFIG, r: 8, rank_pattern: { v_proj: 2 } } }))).toBe(
      1,
    );
  });
});

describe("embeddings", () => {
  const embedding = {
    "base_model.model.model.embed_tokens.lora_embedding_A": formula([2, 64], 0),
    "base_model.model.model.embed_tokens.lora_embedding_B": formula([32, 2], 1),
  };

  test("A is transposed, because its rows are looked up", () => {
    const data = dataOf(converted({ tensors: embedding }));
    const a = floats(data.get("token_embd.weight.lora_a"));
    const { values } = formula([2, 64], 0);
    expect([a[0], a[1], a[2]]).toEqual([values[0], values[64], values[1]]);
  });

  test("a tied embedding is not adapted", () => {
    const base = baseHeader("llama", { "token_embd.weight": [32, 64] });
    expect(refusal({ tensors: embedding, base })).toContain("output layer");
    expect(refusal({ tensors: pair("base_model.model.lm_head", [2, 32], [64, 2]), base })).toContain(
      "output.weight",
    );
  });
});

describe("errors name the problem", () => {
  test.each<[string, Given, ...string[]]>([
    ["ranks differ", { tensors: pair(Q, [2, 32], [32, 3]) }, "q_proj", "different ranks"],
    ["config says another rank", { config: { ...CONFIG, r: 4 } }, "rank 2", "says 4"],
    ["another base model", { tensors: pair(Q, [2, 64], [32, 2]) }, "64 inputs", "another base model"],
    ["a layer too many", { tensors: pair(Q.replace("0", "7"), [2, 32], [32, 2]) }, "blk.7.attn_q.weight"],
    ["an unknown module", { tensors: pair("model.layers.0.mixer.w", [2, 32], [32, 2]) }, "mixer.w"],
    [
      "one factor",
      { tensors: { [`${Q}.lora_A.weight`]: formula([2, 32], 0) } },
      "only one of its two factors",
    ],
    ["not a matrix", { tensors: { ...GOOD, [`${Q}.lora_A.weight`]: formula([64], 0) } }, "not a matrix"],
    ["another tensor", { tensors: { ...GOOD, "model.norm.weight": formula([32], 0) } }, "model.norm.weight"],
    ["no tensors", { tensors: {} }, "no tensors"],
    ["unknown architecture", { base: baseHeader("mamba", {}) }, '"mamba"', "llama"],
    ["no JSON", { config: "{" }, "adapter_config.json"],
    ["not LoRA", { config: { ...CONFIG, peft_type: "IA3" } }, "of the kind IA3"],
    ["no kind", { config: { ...CONFIG, peft_type: null } }, "peft_type"],
    ["more layers", { config: { ...CONFIG, layer_replication: [[0, 4]] } }, "layer_replication"],
    [
      "trained tokens",
      { config: { ...CONFIG, trainable_token_indices: { embed: [1] } } },
      "trainable_token_indices",
    ],
    [
      "not a number",
      {
        tensors: {
          ...GOOD,
          [`${Q}.lora_A.weight`]: { shape: [2, 32], values: new Float32Array(64).fill(NaN) },
        },
      },
      "not numbers",
    ],
    ["no rank", { config: { peft_type: "LORA", lora_alpha: 4 } }, "r is missing"],
    ["a factor beyond 32 bits", { config: { ...CONFIG, lora_alpha: 1e39 } }, "lora_alpha"],
    ["DoRA", { config: { ...CONFIG, use_dora: true } }, "use_dora"],
    ["bias", { config: { ...CONFIG, bias: "all" } }, "bias"],
    ["whole modules", { config: { ...CONFIG, modules_to_save: ["lm_head"] } }, "modules_to_save"],
    ["transposed", { config: { ...CONFIG, fan_in_fan_out: true } }, "fan_in_fan_out"],
    ["cut off", { weights: safetensors(GOOD).subarray(0, 300) }, "damaged"],
    ["empty", { weights: new Uint8Array() }, "damaged"],
    ["pickle", { weights: new TextEncoder().encode("\x80\x02}q\x00.............") }, "damaged"],
  ])("%s", (_, given, ...words) => {
    const message = refusal(given);
    for (const word of words) expect(message).toContain(word);
  });

  test("a link, a folder or a pickled file instead of the weights", () => {
    const output = join(tempDir(), "out.gguf");
    const folder = join(tempDir(), "adapter");
    const weights = join(folder, "adapter_model.safetensors");
    mkdirSync(folder);
    writeFileSync(join(folder, "adapter_config.json"), JSON.stringify(CONFIG));
    writeFileSync(join(folder, "adapter_model.bin"), "x");
    expect(() => convertAdapter([folder], BASE, output)).toThrow("pickled");
    writeFileSync(join(folder, "other.safetensors"), safetensors(GOOD));
    symlinkSync(join(folder, "other.safetensors"), weights);
    expect(() => convertAdapter([folder], BASE, output)).toThrow("not a regular file");
    expect(existsSync(output)).toBe(false);
  });
});

test("a damaged file yields an adapter or a reason", () => {
  const good = safetensors(GOOD);
  const folder = writeAdapter(join(tempDir(), "adapter"), good);
  const path = join(folder, "adapter_model.safetensors");
  const output = join(tempDir(), "out.gguf");
  const change = fc.record({ at: fc.nat(400), byte: fc.nat(255), length: fc.option(fc.nat(good.length)) });
  fc.assert(
    fc.property(change, ({ at, byte, length }) => {
      const bytes = good.slice();
      bytes[at % bytes.length] = byte;
      writeFileSync(path, bytes);
      if (length !== null) truncateSync(path, length);
      try {
        convertAdapter([folder], BASE, output);
      } catch (error) {
        expect(error).toBeInstanceOf(AdapterError);
      }
    }),
    { numRuns: 2000, seed: 7 },
  );
});
