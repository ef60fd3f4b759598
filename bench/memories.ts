// Layers beyond full attention: sliding windows as in Gemma 3, and the gated delta net beside attention of Qwen3.5 and
// Qwen3-Next, in the sizes of their small models. Knows nothing of files; model.ts writes them.

import type { Field } from "../src/core/gguf.ts";
import { int32sField, TENSOR, type Tensor, u32Field } from "../src/lora/gguf-write.ts";

/** Architectures of this file. */
export type MemoryArch = "gemma3" | "qwen35";

export interface MemoryShape {
  readonly embd: number;
  readonly heads: number;
  readonly headDim: number;
}

/** Generates the weights of a layer. */
export interface Weights {
  readonly matrix: (name: string, outputs: number, inputs: number) => Tensor;
  readonly ones: (name: string, length: number) => Tensor;
}

/** Tokens in a layer's sliding window; every sixth layer has full attention. */
const WINDOW = 512;

/** Every fourth layer is attention, the others have a recurrent state of `heads` square matrices. */
const ATTENTION_EVERY = 4;
const STATE_HEADS = 16;
const STATE_DIM = 128;
const CONVOLUTION = 4;
/** Decay of the state at each token, as the exponent of e. */
const DECAY = -0.1;

/** Metadata of the file about these layers. */
export function memoryFields(arch: MemoryArch, key: (suffix: string) => string): Field[] {
  if (arch === "gemma3") return [u32Field(key("attention.sliding_window"), WINDOW)];
  return [
    u32Field(key("full_attention_interval"), ATTENTION_EVERY),
    int32sField(key("rope.dimension_sections"), [11, 11, 10, 0]),
    u32Field(key("ssm.conv_kernel"), CONVOLUTION),
    u32Field(key("ssm.inner_size"), STATE_HEADS * STATE_DIM),
    u32Field(key("ssm.state_size"), STATE_DIM),
    u32Field(key("ssm.time_step_rank"), STATE_HEADS),
    u32Field(key("ssm.group_count"), STATE_HEADS),
  ];
}

/** Whether a layer has a recurrent state instead of attention. */
export function hasState(arch: string, layer: number): boolean {
  return arch === "qwen35" && (layer + 1) % ATTENTION_EVERY !== 0;
}

/** A layer's weights in place of attention. */
export function stateTensors(block: string, { embd }: MemoryShape, { matrix, ones }: Weights): Tensor[] {
  const inner = STATE_HEADS * STATE_DIM;
  return [
    matrix(`${block}attn_qkv.weight`, 3 * inner, embd),
    matrix(`${block}attn_gate.weight`, inner, embd),
    constant(`${block}ssm_conv1d.weight`, 1 / CONVOLUTION, CONVOLUTION, 3 * inner),
    constant(`${block}ssm_dt.bias`, 0, STATE_HEADS),
    constant(`${block}ssm_a`, DECAY, STATE_HEADS),
    matrix(`${block}ssm_beta.weight`, STATE_HEADS, embd),
    matrix(`${block}ssm_alpha.weight`, STATE_HEADS, embd),
    ones(`${block}ssm_norm.weight`, STATE_DIM),
    matrix(`${block}ssm_out.weight`, embd, inner),
  ];
}

/** Norms that a layer has beside those of plain attention, or in place of the one before the feed-forward network. */
export function memoryNorms(arch: MemoryArch, block: string, embd: number, { ones }: Weights): Tensor[] {
  const post = ones(`${block}post_attention_norm.weight`, embd);
  if (arch === "qwen35") return [post];
  return [post, ones(`${block}ffn_norm.weight`, embd), ones(`${block}post_ffw_norm.weight`, embd)];
}

function constant(name: string, value: number, ...shape: readonly number[]): Tensor {
  const count = shape.reduce((product, axis) => product * axis, 1);
  const bytes = new Uint8Array(new Float32Array(count).fill(value).buffer);
  return { name, shape, type: TENSOR.f32, chunks: () => [bytes] };
}
