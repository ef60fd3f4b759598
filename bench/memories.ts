// Layers beyond full attention: sliding windows as in Gemma 3, the gated delta net beside attention of Qwen3.5 and Qwen3-Next, and
// the latent attention (MLA) of DeepSeek-V2, in the sizes of their small models. Knows nothing of files; model.ts writes them.

import type { Field } from "../src/core/gguf.ts";
import { int32sField, TENSOR, type Tensor, u32Field } from "../src/lora/gguf-write.ts";

/** Architectures of this file. */
export type MemoryArch = "gemma3" | "qwen35" | "deepseek2";

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

/** Latent attention: ranks of queries and of keys and values, and the parts of a head with and without rotation. */
const LATENT = { query: 768, keyValue: 512, plain: 128, rotated: 64, value: 128 } as const;

/** Metadata of the file about these layers. */
export function memoryFields(arch: MemoryArch, key: (suffix: string) => string, layers: number): Field[] {
  if (arch === "gemma3") return [u32Field(key("attention.sliding_window"), WINDOW)];
  if (arch === "deepseek2") return latentFields(key, layers);
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

function latentFields(key: (suffix: string) => string, layers: number): Field[] {
  const { query, keyValue, plain, rotated, value } = LATENT;
  return [
    u32Field(key("attention.q_lora_rank"), query),
    u32Field(key("attention.kv_lora_rank"), keyValue),
    u32Field(key("attention.key_length"), keyValue + rotated),
    u32Field(key("attention.value_length"), keyValue),
    u32Field(key("attention.key_length_mla"), plain + rotated),
    u32Field(key("attention.value_length_mla"), value),
    u32Field(key("rope.dimension_count"), rotated),
    u32Field(key("leading_dense_block_count"), layers), // no experts: `moe` has them
    u32Field(key("expert_feed_forward_length"), 0),
    u32Field(key("expert_shared_count"), 0),
  ];
}

/** A layer's latent attention. */
export function latentTensors(block: string, { embd, heads }: MemoryShape, weights: Weights): Tensor[] {
  const { query, keyValue, plain, rotated, value } = LATENT;
  const { matrix, ones } = weights;
  const each = (name: string, outputs: number, inputs: number): Tensor => ({
    ...matrix(name, outputs * heads, inputs),
    shape: [inputs, outputs, heads],
  });
  return [
    matrix(`${block}attn_q_a.weight`, query, embd),
    ones(`${block}attn_q_a_norm.weight`, query),
    matrix(`${block}attn_q_b.weight`, heads * (plain + rotated), query),
    matrix(`${block}attn_kv_a_mqa.weight`, keyValue + rotated, embd),
    ones(`${block}attn_kv_a_norm.weight`, keyValue),
    each(`${block}attn_k_b.weight`, keyValue, plain),
    each(`${block}attn_v_b.weight`, value, keyValue),
    matrix(`${block}attn_output.weight`, embd, heads * value),
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
  if (arch === "deepseek2") return [ones(`${block}ffn_norm.weight`, embd)];
  const post = ones(`${block}post_attention_norm.weight`, embd);
  if (arch === "qwen35") return [post];
  return [post, ones(`${block}ffn_norm.weight`, embd), ones(`${block}post_ffw_norm.weight`, embd)];
}

function constant(name: string, value: number, ...shape: readonly number[]): Tensor {
  const count = shape.reduce((product, axis) => product * axis, 1);
  const bytes = new Uint8Array(new Float32Array(count).fill(value).buffer);
  return { name, shape, type: TENSOR.f32, chunks: () => [bytes] };
}
