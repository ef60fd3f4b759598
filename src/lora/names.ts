// Maps modules of Hugging Face models to tensors of GGUF models, and the row order between them. Source: the tables and
// model classes of llama.cpp's convert_hf_to_gguf.

/** The model's attention heads, which the order of rows depends on. */
export interface Heads {
  readonly query: number;
  readonly keyValue: number;
}

/** The tensor of a module. */
export interface Target {
  /** Tensor of the GGUF model. */
  readonly tensor: string;
  /** The output rows were reordered head by head, for this many heads. */
  readonly permutedHeads?: number;
  /** The expert whose matrix it is, in a tensor of all experts. */
  readonly expert?: number;
  /** An embedding: a row is looked up, so the two factors change places. */
  readonly isLookup: boolean;
}

/** Parts of a layer by their Hugging Face names. */
const LAYER_PARTS: Readonly<Record<string, string>> = {
  "self_attn.q_proj": "attn_q",
  "self_attn.k_proj": "attn_k",
  "self_attn.v_proj": "attn_v",
  "self_attn.qkv_proj": "attn_qkv",
  "self_attn.o_proj": "attn_output",
  "mlp.gate_proj": "ffn_gate",
  "mlp.up_proj": "ffn_up",
  "mlp.gate_up_proj": "ffn_up", // phi3: gate and up in one tensor, as in the file
  "mlp.down_proj": "ffn_down",
  "mlp.gate": "ffn_gate_inp", // the router of a mixture of experts
  "block_sparse_moe.gate": "ffn_gate_inp",
  "mlp.shared_expert.gate_proj": "ffn_gate_shexp",
  "mlp.shared_expert.up_proj": "ffn_up_shexp",
  "mlp.shared_expert.down_proj": "ffn_down_shexp",
};

/** Matrices of one expert. llama.cpp has those of all experts in one tensor. */
const EXPERT_PARTS: Readonly<Record<string, string>> = {
  gate_proj: "ffn_gate_exps",
  up_proj: "ffn_up_exps",
  down_proj: "ffn_down_exps",
  w1: "ffn_gate_exps", // Mixtral
  w3: "ffn_up_exps",
  w2: "ffn_down_exps",
};
const EXPERT = /^(?:mlp|block_sparse_moe)\.experts\.(\d+)\.(\w+)$/;

/** Whether a module is all experts of a layer at once, as `target_parameters` of PEFT name them. */
export function isAllExperts(module: string): boolean {
  return /\.experts(?:\.base_layer)*$/.test(module);
}

/** Architectures whose query and key rows the converter reorders for llama.cpp's rotation of neighbouring pairs. */
const PERMUTED = new Set(["llama", "granite", "smollm3"]);
const PLAIN = new Set([
  "qwen2",
  "qwen2moe",
  "qwen3",
  "qwen3moe",
  "gemma",
  "gemma2",
  "gemma3",
  "phi3",
  "olmo2",
]);

/** Architectures that adapters can be converted for. */
export const ARCHITECTURES: readonly string[] = [...PERMUTED, ...PLAIN];

/** The target of a module such as `model.layers.3.self_attn.q_proj`; undefined for one that is not known. */
export function targetOf(module: string, architecture: string, heads: Heads): Target | undefined {
  // Text models inside multimodal ones keep their names behind another prefix.
  const name = module.replace(/^(?:model\.)?(?:language_model\.)?(?:model\.)?/, "");
  if (name === "embed_tokens") return { tensor: "token_embd.weight", isLookup: true };
  if (name === "lm_head") return { tensor: "output.weight", isLookup: false };
  const [, layer, part] = /^layers\.(\d+)\.(.+)$/.exec(name) ?? [];
  if (layer === undefined || part === undefined) return undefined;
  const [, expert, matrix = ""] = EXPERT.exec(part) ?? [];
  const stacked = EXPERT_PARTS[matrix];
  if (expert !== undefined && stacked !== undefined)
    return { tensor: `blk.${Number(layer)}.${stacked}.weight`, expert: Number(expert), isLookup: false };
  const gguf = LAYER_PARTS[part];
  if (gguf === undefined) return undefined;
  const tensor = `blk.${Number(layer)}.${gguf}.weight`;
  if (!PERMUTED.has(architecture)) return { tensor, isLookup: false };
  if (gguf === "attn_q") return { tensor, isLookup: false, permutedHeads: heads.query };
  if (gguf === "attn_k") return { tensor, isLookup: false, permutedHeads: heads.keyValue };
  return { tensor, isLookup: false };
}

/**
 * Reorders rows [heads × 2 × half] to [heads × half × 2]: from halves that rotate against each other to neighbouring pairs.
 * `values` holds rows of `width` elements.
 */
export function permuteRows(values: Float32Array, width: number, heads: number): Float32Array {
  const rows = values.length / width;
  const half = rows / heads / 2;
  const out = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    const head = Math.floor(row / (2 * half));
    const within = row - head * 2 * half;
    const target = head * 2 * half + (within % half) * 2 + Math.floor(within / half);
    out.set(values.subarray(row * width, (row + 1) * width), target * width);
  }
  return out;
}
