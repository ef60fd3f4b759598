// Model files of the architectures of architectures.ts: random weights under the built-in model's vocabulary. llama.cpp
// itself says which tensors an architecture has; they are filled by a seed and the tensor's name.

import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import {
  boolField,
  f32Field,
  int32sField,
  stringField,
  type Tensor,
  u32Field,
  writeGguf,
} from "../../src/lora/gguf-write.ts";
import { type Field, FIELD, readFields } from "../../src/core/gguf.ts";
import { uniformSource } from "../../bench/random.ts";
import { architecture, type Value } from "./architectures.ts";
import { type LlamaFiles, wantedTensors, type WantedTensor } from "./llama-c.ts";
import { libraryDir, native, TINY_PATH } from "./native.ts";
import { f32Tensor, type Fill } from "./tiny-tensors.ts";
import { tempDir } from "./tmp.ts";

/** Our libraries, ready. */
function ownLlama(): LlamaFiles {
  native();
  return { dir: libraryDir(), base: "libggml-base.so.0", ggml: "libggml.so.0", llama: "libllama.so.0" };
}

function arrayField(key: string, type: number, values: Uint8Array, length: number): Field {
  const head = new DataView(new ArrayBuffer(12));
  head.setUint32(0, type, true);
  head.setBigUint64(4, BigInt(length), true);
  return { key, type: FIELD.array, raw: Buffer.concat([new Uint8Array(head.buffer), values]) };
}

function field(key: string, value: Value): Field {
  if (typeof value === "number") return u32Field(key, value);
  if (typeof value === "boolean") return boolField(key, value);
  if ("u64" in value) {
    const words = BigUint64Array.from(value.u64, BigInt);
    return arrayField(key, FIELD.u64, new Uint8Array(words.buffer), words.length);
  }
  if (!("f32" in value)) return int32sField(key, value);
  if (typeof value.f32 === "number") return f32Field(key, value.f32);
  const floats = Float32Array.from(value.f32);
  return arrayField(key, FIELD.f32, new Uint8Array(floats.buffer), floats.length);
}

/** Keys that carry no architecture's name. */
const GLOBAL = /^(xielu|tokenizer)\./;

function fieldsOf(name: string): Field[] {
  const { metadata } = architecture(name);
  const [arch = name] = name.split("+");
  const own = readFields(readFileSync(TINY_PATH));
  return [
    stringField("general.architecture", arch),
    ...Object.entries(metadata).map(([key, value]) =>
      field(GLOBAL.test(key) ? key : `${arch}.${key}`, value),
    ),
    ...own.filter(({ key }) => key.startsWith("tokenizer.")),
  ];
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193);
  return value >>> 0;
}

/** About normal: the sum of three uniform values, of variance 1. */
function deviates(seed: number): () => number {
  const uniform = uniformSource(seed);
  return () => 2 * (uniform() + uniform() + uniform() - 1.5);
}

/** Standard deviation of logits: some tokens are likely, and none is certain. */
const LOGIT_DEVIATION = 6;
/** Of a vocabulary's vectors where they are also the output's: small beside what layers add, or tokens would repeat. */
const TIED_DEVIATION = 0.05;

/**
 * Values that keep activations near 1: norms about 1, matrices of variance 1 / inputs, decays of a state below 0. `tied`:
 * logits come from the vectors of the tokens.
 */
function fill({ name, shape }: WantedTensor, tied: boolean, gain: number): Fill {
  const next = deviates(hash(name));
  const [inputs = 1] = shape;
  if (name.includes("ssm_a")) return () => -0.1 - Math.abs(next());
  if (name === "output_norm.weight") {
    const size = tied ? LOGIT_DEVIATION / TIED_DEVIATION / Math.sqrt(inputs) : 1;
    return () => size * (1 + 0.1 * next());
  }
  if (/post_\w*norm\.weight$/.test(name)) return () => gain * (1 + 0.1 * next());
  if (/(norm[^.]*|_scale|rope_\w+)\.weight$|scale$/.test(name)) return () => 1 + 0.1 * next();
  if (!name.endsWith(".weight") || shape.length < 2) return () => 0.1 * next();
  if (name === "token_embd.weight") return () => (tied ? TIED_DEVIATION : 1) * next();
  const scale = (name === "output.weight" ? LOGIT_DEVIATION : gain) / Math.sqrt(inputs);
  return () => scale * next();
}

/**
 * Writes the model, with further metadata fields, and returns its path; once for each folder and name. Throws with llama.cpp's
 * refusal.
 */
export function architectureModel(name: string, dir = tempDir(), extra: readonly Field[] = []): string {
  const path = join(dir, `${name}.gguf`);
  if (existsSync(path)) return path;
  mkdirSync(dir, { recursive: true });
  const fields = [...fieldsOf(name), ...extra];
  const described = join(dir, `${name}.metadata`);
  writeGguf(described, fields, []);
  const { omit, gain } = architecture(name);
  const wanted = wantedTensors(ownLlama(), described).filter(
    (tensor) => !omit.some((part) => tensor.name.includes(part)),
  );
  const tied = wanted.every((tensor) => tensor.name !== "output.weight");
  const tensors: Tensor[] = wanted.map((tensor) =>
    f32Tensor(tensor.name, fill(tensor, tied, gain), ...tensor.shape),
  );
  writeGguf(`${path}.part`, fields, tensors);
  renameSync(`${path}.part`, path);
  return path;
}
