// llama.cpp's generic sampler chain, called directly: the reference that our sampler is measured against.

import { dlopen, ptr, type Pointer } from "bun:ffi";
import { join } from "node:path";
import type { SamplingParams } from "../../src/core/sampling.ts";

// llama_token_data: i32 id, f32 logit, f32 p
const ENTRY_BYTES = 12;

function open(dir: string) {
  return dlopen(join(dir, "libllama.so.0"), {
    llama_sampler_chain_init: { args: ["bool"], returns: "ptr" }, // a struct of one bool travels like a bool
    llama_sampler_chain_add: { args: ["ptr", "ptr"], returns: "void" },
    llama_sampler_init_logit_bias: { args: ["i32", "i32", "ptr"], returns: "ptr" },
    llama_sampler_init_penalties: { args: ["i32", "i32", "f32", "f32", "f32"], returns: "ptr" },
    llama_sampler_init_dry: { args: ["ptr", "f32", "f32", "i32", "i32", "ptr", "u64"], returns: "ptr" },
    llama_sampler_init_temp: { args: ["f32"], returns: "ptr" },
    llama_sampler_init_top_k: { args: ["i32"], returns: "ptr" },
    llama_sampler_init_top_p: { args: ["f32", "u64"], returns: "ptr" },
    llama_sampler_init_min_p: { args: ["f32", "u64"], returns: "ptr" },
    llama_sampler_init_dist: { args: ["u32"], returns: "ptr" },
    llama_sampler_accept: { args: ["ptr", "i32"], returns: "void" },
    llama_sampler_apply: { args: ["ptr", "ptr"], returns: "void" },
    llama_sampler_free: { args: ["ptr"], returns: "void" },
    llama_model_get_vocab: { args: ["ptr"], returns: "ptr" },
  }).symbols;
}

type Llama = ReturnType<typeof open>;
type Handle = Pointer | bigint | null;

function stages(llama: Llama, model: Handle, params: SamplingParams, vocabulary: number): Handle[] {
  const { logitBias, dry } = params;
  const out: Handle[] = [];
  if (logitBias.length > 0) {
    const data = new DataView(new ArrayBuffer(logitBias.length * 8));
    logitBias.forEach(({ token, bias }, i) => {
      data.setInt32(i * 8, token, true);
      data.setFloat32(i * 8 + 4, bias, true);
    });
    out.push(llama.llama_sampler_init_logit_bias(vocabulary, logitBias.length, new Uint8Array(data.buffer)));
  }
  const { repetitionPenalty, frequencyPenalty, presencePenalty } = params;
  out.push(
    llama.llama_sampler_init_penalties(
      vocabulary,
      4096,
      repetitionPenalty,
      frequencyPenalty,
      presencePenalty,
    ),
  );
  if (dry.multiplier > 0) {
    const vocab = llama.llama_model_get_vocab(model);
    out.push(
      llama.llama_sampler_init_dry(vocab, dry.multiplier, dry.base, dry.allowedLength, 4096, null, 0n),
    );
  }
  out.push(llama.llama_sampler_init_temp(params.temperature));
  if (params.topK > 0) out.push(llama.llama_sampler_init_top_k(params.topK));
  if (params.topP < 1) out.push(llama.llama_sampler_init_top_p(params.topP, 1n));
  if (params.minP > 0) out.push(llama.llama_sampler_init_min_p(params.minP, 1n));
  out.push(llama.llama_sampler_init_dist(1));
  return out;
}

/**
 * The distribution, [vocabulary], that the generic chain draws from after `history`. DRY has no breakers here.
 * `dir` holds the native libraries, `model` is a loaded model's handle.
 */
export function chainDistribution(
  dir: string,
  model: Handle,
  params: SamplingParams,
  logits: Float32Array,
  history: readonly number[],
): Float64Array {
  const llama = open(dir);
  const chain = llama.llama_sampler_chain_init(true);
  for (const stage of stages(llama, model, params, logits.length))
    llama.llama_sampler_chain_add(chain, stage);
  for (const token of history) llama.llama_sampler_accept(chain, token);

  const data = new DataView(new ArrayBuffer(logits.length * ENTRY_BYTES));
  logits.forEach((logit, id) => {
    data.setInt32(id * ENTRY_BYTES, id, true);
    data.setFloat32(id * ENTRY_BYTES + 4, logit, true);
  });
  const entries = new Uint8Array(data.buffer);
  // llama_token_data_array: data pointer, size, selected (i64), sorted (bool)
  const array = new BigInt64Array([BigInt(ptr(entries)), BigInt(logits.length), -1n, 0n]);
  llama.llama_sampler_apply(chain, array);
  llama.llama_sampler_free(chain);

  const out = new Float64Array(logits.length);
  for (let i = 0; i < Number(array[1]); i++) {
    out[data.getInt32(i * ENTRY_BYTES, true)] = data.getFloat32(i * ENTRY_BYTES + 8, true);
  }
  return out;
}
