// Metadata of small models of the architectures that llama.cpp knows, by name. What an architecture asks for follows
// llama.cpp's own fixtures (tests/test-llama-archs.cpp); sizes are smaller here, and mixtures route to 4 of 32 experts.

/** Numbers from which most of the metadata follow. */
export interface Sizes {
  readonly embd: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly ffn: number;
  readonly layers: number;
}

/** A plain number is a 32-bit integer. */
export type Value =
  | number
  | boolean
  | readonly number[]
  | { readonly f32: number | readonly number[] }
  | { readonly u64: readonly number[] };
export type Metadata = Readonly<Record<string, Value>>;

/** How an architecture keeps earlier tokens, and what else sets it apart. */
export type Trait = "moe" | "hybrid" | "recurrent" | "window" | "mla" | "sinks" | "embeds";

/** A small model of an architecture. */
export interface Architecture {
  /** Its name in GGUF files; with "+moe" for the variant with experts where there is one without. */
  readonly name: string;
  readonly traits: readonly Trait[];
  /** Keys are without the architecture's name. */
  readonly metadata: Metadata;
  /** Parts of the names of optional tensors that its files never have. */
  readonly omit: readonly string[];
  /** What a layer's matrices and last norms are multiplied by; 1 adds about as much as there is. */
  readonly gain: number;
}

/** Positions that a layer with a window sees. */
const WINDOW = 32;

const CONTEXT = 2048;
/** Entries of the built-in model's vocabulary, which the models share. */
const VOCABULARY = 2048;
const SIZES: Sizes = { embd: 128, heads: 2, kvHeads: 2, ffn: 192, layers: 2 };
const EXPERTS = 32;
const EXPERTS_USED = 4;
const EXPERT_FFN = 64;
/** enum llama_expert_gating_func_type */
const GATING = { sigmoid: 2, sqrtSoftplus: 4 } as const;

interface Variant {
  readonly traits?: readonly Trait[];
  readonly sizes?: Partial<Sizes>;
  readonly metadata?: Metadata | ((sizes: Sizes) => Metadata);
  readonly omit?: readonly string[];
  readonly gain?: number;
}

const f32 = (value: number | readonly number[]): Value => ({ f32: value });
/** One entry a layer. */
const perLayer = ({ layers }: Sizes, value: (layer: number) => number): number[] =>
  Array.from({ length: layers }, (_, layer) => value(layer));
/** A window in every other layer. */
const windows = (sizes: Sizes): Metadata => ({
  "attention.sliding_window_pattern": perLayer(sizes, (layer) => layer % 2),
});
/** Layer 1 is recurrent, the others attend. */
const hybridHeads = (sizes: Sizes): Metadata => {
  const heads = perLayer(sizes, (layer) => (layer === 1 ? 0 : sizes.heads));
  return { "attention.head_count": heads, "attention.head_count_kv": heads };
};
/** Keys and values of all heads come from one compressed vector. */
const LATENT: Metadata = {
  "attention.kv_lora_rank": 128,
  "attention.key_length": 160,
  "attention.value_length": 128,
  "rope.dimension_count": 32,
  "attention.key_length_mla": 96,
  "attention.value_length_mla": 64,
};
const LATENT_SIZES = { heads: 1, kvHeads: 1 } as const;
const RWKV7: Metadata = {
  "attention.decay_lora_rank": 32,
  "attention.iclr_lora_rank": 32,
  "attention.value_residual_mix_lora_rank": 32,
  "attention.gate_lora_rank": 32,
};
const GATED_DELTA: Metadata = { "ssm.inner_size": 256 };
/** Layers that select earlier tokens by an index take it from layer 0. */
const indexers = (sizes: Sizes): Metadata => ({
  "attention.indexer.types": perLayer(sizes, (layer) => 1 - (layer % 2)),
});

const DENSE =
  "llama deci falcon gpt2 gptneox mpt baichuan starcoder refact bloom stablelm qwen qwen2 qwen2vl qwen3vl phi2 plamo " +
  "codeshell orion internlm2 minicpm minicpm3 gemma starcoder2 xverse command-r olmo olmo2 openelm chatglm glm4 bitnet jais " +
  "jais2 nemotron exaone granite arcee hunyuan-dense hunyuan_vl smollm3 seed_oss apertus cogvlm pangu-embedded mistral3 " +
  "maincoder talkie nanbeige";
const MIXTURES =
  "llama+moe refact+moe minicpm+moe granite+moe granitemoe mistral3+moe llama4 grok qwen2moe qwen3moe qwen3vlmoe phimoe dbrx " +
  "olmoe arctic deepseek glm4moe exaone-moe bailingmoe bailingmoe2 dots1 ernie4_5 ernie4_5-moe hunyuan-moe hy_v3 " +
  "grovemoe minimax-m2 paddleocr";
const RECURRENT = "mamba mamba2 rwkv6";
const WINDOWED = "phi3 gemma2 gemma3 cohere2 exaone4 plamo3";

const many = (names: string, variant: Variant): [string, Variant][] =>
  names.split(" ").map((name) => [name, variant]);

const VARIANTS: ReadonlyMap<string, Variant> = new Map<string, Variant>([
  ...many(DENSE, {}),
  ...many(MIXTURES, { traits: ["moe"] }),
  ...many(RECURRENT, { traits: ["recurrent"] }),
  ...many(WINDOWED, { traits: ["window"] }),
  ["rwkv6qwen2", { traits: ["recurrent"], metadata: { token_shift_count: 1 }, omit: ["time_mix_first"] }],
  ["rwkv7", { traits: ["recurrent"], metadata: RWKV7 }],
  ["arwkv7", { traits: ["recurrent"], metadata: { ...RWKV7, token_shift_count: 1 } }],
  ["qwen3", { sizes: { heads: 4, kvHeads: 1 } }],
  ["llama4", { traits: ["moe", "window"], sizes: { layers: 4 } }],
  [
    "hrm_text",
    {
      sizes: { layers: 8 },
      metadata: { "hrm.layers_per_stack": 1, "hrm.h_cycles": 2, "hrm.l_cycles": 3 },
    },
  ],
  // Windows
  // Its layers are many and amplify rounding, unless each adds little.
  [
    "gemma3n",
    { traits: ["window"], sizes: { embd: 64, heads: 1, kvHeads: 1, ffn: 96, layers: 22 }, gain: 0.3 },
  ],
  [
    "gemma4",
    {
      traits: ["window"],
      sizes: { layers: 5 },
      metadata: ({ embd, heads }) => ({
        embedding_length_per_layer_input: embd / 2,
        "attention.shared_kv_layers": 0,
        "attention.key_length_swa": embd / heads,
        "attention.value_length_swa": embd / heads,
        "rope.freq_base_swa": f32(10_000),
        "attention.sliding_window_pattern": [1, 1, 1, 1, 0],
      }),
    },
  ],
  ["gpt-oss", { traits: ["moe", "window", "sinks"] }],
  ["granite_swa", { traits: ["window"], metadata: windows }],
  ["spark2_5", { traits: ["window"], metadata: windows }],
  ["muse-glimmer", { traits: ["window"], sizes: { heads: 4 }, metadata: windows }],
  ["afmoe", { traits: ["moe", "window"], sizes: { heads: 4 } }],
  ["smallthinker", { traits: ["moe", "window"] }],
  ["mellum", { traits: ["moe", "window"] }],
  ["laguna", { traits: ["moe", "window"], sizes: { embd: 160 } }],
  ["step35", { traits: ["moe", "window"], sizes: { embd: 160 }, metadata: windows }],
  ["cohere2moe", { traits: ["moe", "window"], metadata: windows }],
  ["mimo2", { traits: ["moe", "window", "sinks"], metadata: windows }],
  [
    "maple",
    {
      traits: ["moe", "window"],
      metadata: (sizes) => ({ ...windows(sizes), swiglu_clamp_exp: f32(7) }),
    },
  ],
  // Attention beside recurrent layers
  ["jamba", { traits: ["hybrid"], metadata: hybridHeads }],
  ["plamo2", { traits: ["hybrid"], metadata: (sizes) => ({ ...hybridHeads(sizes), "ssm.group_count": 0 }) }],
  ["falcon-h1", { traits: ["hybrid"] }],
  ["granitehybrid", { traits: ["hybrid"], metadata: hybridHeads }],
  ["lfm2", { traits: ["hybrid"], metadata: hybridHeads }],
  ["lfm2moe", { traits: ["hybrid", "moe"], metadata: hybridHeads }],
  ["qwen35", { traits: ["hybrid"], metadata: GATED_DELTA }],
  ["qwen35moe", { traits: ["hybrid", "moe"], metadata: GATED_DELTA }],
  ["qwen3next", { traits: ["hybrid", "moe"], metadata: GATED_DELTA }],
  ["minimax-01", { traits: ["hybrid", "moe"] }],
  [
    "nemotron_h",
    {
      traits: ["hybrid"],
      sizes: { layers: 3 },
      metadata: (sizes) => ({
        ...hybridHeads(sizes),
        feed_forward_length: perLayer(sizes, (layer) => (layer < 2 ? 0 : sizes.ffn)),
      }),
    },
  ],
  [
    "nemotron_h_moe",
    {
      traits: ["hybrid", "moe"],
      sizes: { layers: 3 },
      metadata: (sizes) => ({
        ...hybridHeads(sizes),
        feed_forward_length: perLayer(sizes, (layer) => (layer < 2 ? 0 : sizes.ffn)),
      }),
    },
  ],
  // Latent attention
  ...many("deepseek2 mistral4", { traits: ["mla", "moe"], sizes: LATENT_SIZES, metadata: LATENT }),
  ...many("deepseek32 glm-dsa", { traits: ["mla", "moe"], sizes: LATENT_SIZES, metadata: LATENT }),
  ...many("kimi-linear kimi-k3", {
    traits: ["hybrid", "mla", "moe"],
    sizes: LATENT_SIZES,
    metadata: (sizes) => ({ ...hybridHeads(sizes), ...LATENT }),
  }),
  [
    "bailingmoe3",
    {
      traits: ["hybrid", "mla", "moe"],
      sizes: LATENT_SIZES,
      metadata: (sizes) => ({
        ...hybridHeads(sizes),
        ...LATENT,
        swiglu_clamp_exp: f32([0, 4]),
        swiglu_clamp_shexp: f32([0, 5]),
      }),
    },
  ],
  [
    "dots3note",
    {
      traits: ["mla", "moe", "window"],
      sizes: LATENT_SIZES,
      metadata: (sizes) => ({
        ...LATENT,
        ...windows(sizes),
        ...indexers(sizes),
        "attention.kv_lora_rank_swa": 128,
        "attention.key_length_swa": 160,
        "attention.value_length_swa": 128,
        "attention.key_length_mla_swa": 96,
        "attention.value_length_mla_swa": 64,
        "rope.freq_base_swa": f32(10_000),
      }),
    },
  ],
  [
    "hy_v4",
    {
      traits: ["mla", "moe"],
      sizes: LATENT_SIZES,
      metadata: (sizes) => ({
        ...LATENT,
        ...indexers(sizes),
        "hyper_connection.count": 4,
        "hyper_connection.epsilon": f32(1e-6),
        "hyper_connection.magnitude": f32(2),
        swiglu_clamp_exp: f32(10),
        expert_weights_scale: f32(1),
        expert_weights_norm: true,
      }),
    },
  ],
  // Attention to selected or compressed tokens
  [
    "minimax-m3",
    {
      traits: ["moe"],
      metadata: { "rope.dimension_count": 64, "attention.indexer.head_count": SIZES.heads },
    },
  ],
  [
    "deepseek4",
    {
      traits: ["moe"],
      sizes: { embd: 256, heads: 4, kvHeads: 1, layers: 4 },
      metadata: ({ embd, heads }) => ({
        "attention.key_length": embd / heads,
        "attention.value_length": embd / heads,
        "rope.dimension_count": embd / heads / 2,
        "attention.output_group_count": heads,
        "attention.output_lora_rank": 32,
        "attention.compress_ratios": [0, 0, 4, 128],
        "attention.compress_rope_freq_base": f32(160_000),
        "hyper_connection.count": 4,
        "hyper_connection.sinkhorn_iterations": 2,
        "hyper_connection.epsilon": f32(1e-6),
        hash_layer_count: 0,
        swiglu_clamp_exp: f32(10),
        expert_weights_scale: f32(1),
        expert_weights_norm: true,
        expert_gating_func: GATING.sqrtSoftplus,
        expert_feed_forward_length: 16,
      }),
    },
  ],
  [
    "qwen4exp",
    {
      traits: ["hybrid", "moe"],
      metadata: (sizes) => ({
        ...GATED_DELTA,
        "hyper_connection.count": 4,
        "hyper_connection.low_rank": 8,
        "attention.compress_ratios": perLayer(sizes, () => 4),
        "attention.indexer.key_length": sizes.embd / sizes.heads,
        "ple.layers": [0],
        "ple.ngram_size": 3,
        "ple.heads_per_ngram": 2,
        "ple.conv_kernel": 4,
        "ple.eos_token_id": 0,
        embedding_length_per_layer_input: sizes.embd / 4,
        "ple.layer_multipliers": { u64: [1, 3, 5] },
        "ple.head_offsets": { u64: [0, 1, 2, 3].map((head) => head * VOCABULARY) },
        "ple.head_vocab_sizes": { u64: [0, 1, 2, 3].map(() => VOCABULARY) },
      }),
    },
  ],
  // Whole inputs at once
  ...many(
    "llama-embed bert modern-bert nomic-bert nomic-bert-moe neo-bert jina-bert-v2 jina-bert-v3 eurobert gemma-embedding t5encoder",
    {
      traits: ["embeds"],
      metadata: { "tokenizer.ggml.token_type_count": 2, pooling_type: 1 },
    },
  ),
]);

function base({ embd, heads, kvHeads, ffn, layers }: Sizes): Metadata {
  return {
    vocab_size: VOCABULARY,
    context_length: CONTEXT,
    embedding_length: embd,
    features_length: embd,
    block_count: layers,
    leading_dense_block_count: 1,
    feed_forward_length: ffn,
    use_parallel_residual: false,
    logit_scale: f32(1),
    time_mix_extra_dim: 64,
    time_decay_extra_dim: 128,
    full_attention_interval: 2,
    "attention.head_count": heads,
    "attention.head_count_kv": kvHeads,
    "attention.max_alibi_bias": f32(8),
    "attention.clamp_kqv": f32(1),
    "attention.layer_norm_epsilon": f32(1e-5),
    "attention.layer_norm_rms_epsilon": f32(1e-5),
    "attention.group_norm_epsilon": f32(1e-5),
    "attention.group_norm_groups": 8,
    "attention.q_lora_rank": 64,
    "attention.kv_lora_rank": 128,
    "attention.relative_buckets_count": 8,
    "attention.sliding_window": WINDOW,
    "attention.sliding_window_pattern": 2,
    "attention.indexer.head_count": 8,
    "attention.indexer.key_length": 64,
    "attention.indexer.top_k": 131_072,
    "attention.indexer.block_size": 4,
    "attention.indexer.local_blocks": 1,
    "rope.dimension_sections": Array.from({ length: 4 }, () => Math.floor(embd / heads / 4)),
    "xielu.alpha_n": f32(1),
    "xielu.alpha_p": f32(1),
    "xielu.beta": f32(1),
    "xielu.eps": f32(1e-7),
    "ssm.inner_size": 2 * embd,
    "ssm.conv_kernel": 4,
    "ssm.state_size": 128,
    "ssm.time_step_rank": heads,
    "ssm.group_count": 2,
    "kda.head_dim": 128,
    "kda.safe_gate": true,
    "kda.gate_lower_bound": f32(-5),
    "wkv.head_size": embd / heads,
    "shortconv.l_cache": 3,
    residual_scale: f32(3.5),
    "attn_res.block_size": 12,
    "activation.situ_beta": f32(4),
    "activation.situ_linear_beta": f32(25),
  };
}

const ROUTED: Metadata = {
  expert_feed_forward_length: EXPERT_FFN,
  expert_shared_feed_forward_length: EXPERT_FFN / 2,
  expert_latent_length: EXPERT_FFN,
  interleave_moe_layer_step: 2,
  expert_count: EXPERTS,
  expert_used_count: EXPERTS_USED,
  expert_shared_count: 1,
  expert_gating_func: GATING.sigmoid,
  expert_group_scale: f32(1),
  experts_per_group: 1,
};

/** Names of all models, in the order of the table above. */
export const ARCHITECTURE_NAMES: readonly string[] = [...VARIANTS.keys()];

/** Those whose files may have a head that predicts the token after the next: with "+head" after the name. */
export const HEADED_NAMES =
  "cohere2moe deepseek2 deepseek32 glm-dsa glm4moe hy_v3 nemotron_h_moe qwen35 qwen35moe step35".split(" ");
/** Throws on a name that is not one of ARCHITECTURE_NAMES, or of HEADED_NAMES with a head, or with one that is named only ("+headless"). */
export function architecture(name: string): Architecture {
  const [own = name, end] = name.split("+head");
  if (end !== undefined) return headed(name, own, end === "less");
  const variant = VARIANTS.get(name);
  if (variant === undefined) throw new Error(`${name} is none of the architectures of test/helpers`);
  return architectureOf(name, variant);
}

function headed(name: string, own: string, isLost: boolean): Architecture {
  const variant = HEADED_NAMES.includes(own) ? VARIANTS.get(own) : undefined;
  if (variant === undefined) throw new Error(`${own} has no head`);
  const { layers } = { ...SIZES, ...variant.sizes };
  const { metadata, omit, ...rest } = architectureOf(name, {
    ...variant,
    sizes: { ...variant.sizes, layers: layers + 1 },
  });
  // Its graph of a head has no positions of images.
  const flat = own === "glm4moe" ? { "rope.dimension_sections": [0, 0, 0, 0] } : {};
  return {
    ...rest,
    metadata: { ...metadata, ...flat, nextn_predict_layers: 1 },
    // Scales of a head's weights are left over where it is not loaded; its own output weights would be flat.
    omit: [...omit, ".scale", ".input_scale", "shared_head_head", ...(isLost ? [`blk.${layers}.`] : [])],
  };
}

function architectureOf(name: string, variant: Variant): Architecture {
  const sizes = { ...SIZES, ...variant.sizes };
  const traits = variant.traits ?? [];
  const own = typeof variant.metadata === "function" ? variant.metadata(sizes) : (variant.metadata ?? {});
  const moe = traits.includes("moe");
  const metadata = {
    ...base(moe ? { ...sizes, ffn: EXPERT_FFN } : sizes),
    ...(moe ? ROUTED : {}),
    ...own,
  };
  return { name, traits, metadata, omit: variant.omit ?? [], gain: variant.gain ?? 1 };
}
