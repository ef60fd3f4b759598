// Adapters that are GGUF files already. Checks more than llama.cpp does, which aborts on tensors of other experts' counts.

import { closeSync, copyFileSync, constants, openSync, readSync } from "node:fs";
import { FIELD, type GgufHeader, GgufProblem, numberOf, textOf } from "../core/gguf.ts";
import { readGgufHeader } from "../core/gguf-file.ts";
import { writeAside } from "../core/temporary.ts";
import { AdapterError } from "./adapter-error.ts";
import { TENSOR } from "./gguf-write.ts";
import { notFinite } from "./safetensors.ts";

/** Copies an adapter to `output` atomically, so that it cannot change while it is used. Throws AdapterError where it does not fit. */
export function copyGgufAdapter(file: string, base: GgufHeader, output: string): void {
  writeAside(output, (aside) => {
    copyFileSync(file, aside, constants.COPYFILE_FICLONE);
    const header = headerOf(aside);
    checkGgufAdapter(header, base);
    checkFinite(aside, header);
  });
}

function headerOf(file: string): GgufHeader {
  try {
    return readGgufHeader(file);
  } catch (cause) {
    const reason = cause instanceof GgufProblem ? cause.message : "it cannot be read";
    throw new AdapterError(`the file is damaged or no GGUF file: ${reason}`, { cause });
  }
}

function checkGgufAdapter(adapter: GgufHeader, base: GgufHeader): void {
  const field = ({ fields }: GgufHeader, key: string): string => {
    const found = fields.get(key);
    return (found && textOf(found)) ?? "";
  };
  if (field(adapter, "general.type") !== "adapter" || field(adapter, "adapter.type") !== "lora")
    throw new AdapterError("the GGUF file is no LoRA adapter");
  if (adapter.fields.has("adapter.alora.invocation_tokens"))
    throw new AdapterError("activated adapters (alora_invocation_tokens) are not supported");
  checkAlpha(adapter);
  const own = field(adapter, "general.architecture");
  const wanted = field(base, "general.architecture");
  if (own !== wanted)
    throw new AdapterError(
      `the adapter is made for the architecture "${own}", but the model's is "${wanted}"`,
    );
  const names = new Set<string>();
  for (const name of adapter.tensors.keys()) {
    const [, weight] = /^(.+)\.lora_[ab]$/.exec(name) ?? [];
    if (weight !== undefined) names.add(weight);
    else if (!name.endsWith("_norm.weight"))
      throw new AdapterError(`${name} is not a LoRA tensor; biases and magnitudes (DoRA) are not supported`);
  }
  if (names.size === 0) throw new AdapterError("the adapter has no LoRA tensors");
  for (const name of names) checkPair(name, adapter, base);
}

/** llama.cpp ends the process for a factor of another type. */
function checkAlpha({ fields }: GgufHeader): void {
  const alpha = fields.get("adapter.lora.alpha");
  if (alpha === undefined || (alpha.type === FIELD.f32 && Number.isFinite(numberOf(alpha)))) return;
  throw new AdapterError("adapter.lora.alpha is not a finite number of 32 bits");
}

/** Values of the types that adapters are trained in. Throws AdapterError where one is infinite or not a number. */
function checkFinite(path: string, { tensors }: GgufHeader): void {
  const file = openSync(path, "r");
  try {
    for (const { name, shape, type, offset } of tensors.values()) {
      if (type !== TENSOR.f32 && type !== TENSOR.f16 && type !== TENSOR.bf16) continue;
      const raw = new Uint8Array(shape.reduce((all, axis) => all * axis, type === TENSOR.f32 ? 4 : 2));
      if (readSync(file, raw, 0, raw.length, offset) < raw.length)
        throw new AdapterError(`the file is damaged: the data of ${name} is cut off`);
      if (!isFinite(raw.buffer, type)) throw notFinite(name);
    }
  } finally {
    closeSync(file);
  }
}

const BF16_EXPONENT = 0x7f80; // all bits of it: infinite, or not a number

function isFinite(data: ArrayBuffer, type: number): boolean {
  if (type === TENSOR.bf16)
    return new Uint16Array(data).every((bits) => (bits & BF16_EXPONENT) !== BF16_EXPONENT);
  const values = type === TENSOR.f32 ? new Float32Array(data) : new Float16Array(data);
  return values.every(Number.isFinite);
}

function checkPair(name: string, adapter: GgufHeader, base: GgufHeader): void {
  const [a, b] = ["lora_a", "lora_b"].map((half) => adapter.tensors.get(`${name}.${half}`)?.shape);
  if (a === undefined || b === undefined) throw new AdapterError(`${name} has only one of its two factors`);
  const model = base.tensors.get(name)?.shape;
  if (model === undefined) throw new AdapterError(`the model has no ${name}, which the adapter adapts`);
  const axis = (shape: readonly number[], at: number): number => shape[at] ?? 1;
  const isLookup = name === "token_embd.weight";
  const [inputs, outputs] = isLookup ? [axis(a, 1), axis(b, 1)] : [axis(a, 0), axis(b, 1)];
  const [wantedIn, wantedOut] = isLookup
    ? [axis(model, 1), axis(model, 0)]
    : [axis(model, 0), axis(model, 1)];
  const rank = isLookup ? axis(a, 0) : axis(a, 1);
  const fits =
    inputs === wantedIn &&
    outputs === wantedOut &&
    rank === axis(b, 0) &&
    [2, 3].every((at) => axis(a, at) === axis(model, at) && axis(b, at) === axis(model, at));
  if (!fits)
    throw new AdapterError(
      `${name} has other shapes than the model's: the adapter belongs to another base model`,
    );
}
