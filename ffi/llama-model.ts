// A model file as it is loaded, and what follows from it for the context that is made for it.

import { cacheCells } from "../src/core/cache-size.ts";
import { ServiceError } from "../src/core/error.ts";
import { freeMemory } from "../src/core/free-memory.ts";
import { SLOTS_MAX } from "../src/core/limits.ts";
import type { TextOptions } from "../src/engine/protocol.ts";
import type { ReuseMode } from "../src/worker/backend.ts";
import type { Native } from "./library.ts";
import type { EmbedModel } from "./llama-embed.ts";
import { cText, type Handle, nativeText } from "./text.ts";

/** Progress is read this often while a model loads. */
const LOAD_POLL_MS = 20;
const LOADED = 1001;
/** llama.cpp's own description of a model: svc_model_info. */
export interface ModelInfo extends EmbedModel {
  readonly description: string;
  readonly architecture: string;
  readonly size_bytes: number;
  readonly head_dim_k: number;
  readonly head_dim_v: number;
  readonly n_head_kv: number;
  readonly n_layer: number;
  readonly n_swa: number;
  readonly recurrent: boolean;
  readonly hybrid: boolean;
}

/** Cells of the KV cache of a model that is loaded. */
export function chooseCells(options: TextOptions, info: ModelInfo): number {
  const elements = info.n_layer * info.n_head_kv * (info.head_dim_k + info.head_dim_v);
  return cacheCells(options, { elements, trainedContext: info.n_ctx_train }, freeMemory());
}

/** What the model's memory lets us do with cached prefixes. */
export function reuseMode(info: ModelInfo, options: TextOptions): ReuseMode {
  // A recurrent state has no positions to cut at; a sliding window has already dropped the older ones.
  if (info.recurrent || info.hybrid || info.n_swa > 0) return "whole";
  return options.unified ? "prefix" : "own"; // between separate streams nothing is shared
}

/** Native sequences: those that run and the kept prefixes, where that costs no memory. */
export function slotCount(info: ModelInfo, { maxSeqs, prefixesMax, unified }: TextOptions): number {
  const dear = info.recurrent || info.hybrid || !unified; // each sequence has memory of its own
  return dear ? maxSeqs : Math.min(SLOTS_MAX, maxSeqs + prefixesMax);
}

/** Loads a GGUF file, reporting parts per thousand. Throws ServiceError(model_unavailable) with llama.cpp's reason. */
export async function loadModel(
  native: Native,
  path: string,
  gpuLayers: number,
  onProgress: (permille: number) => void,
): Promise<Handle> {
  const params = Int32Array.of(gpuLayers, 0, 1, 0, 0, 0);
  const load = native.svc_load_begin(cText(path), params, params.length);
  if (load === null) throw new Error(nativeText(native.svc_last_error()));
  for (let state = 0; state >= 0 && state < LOADED;) {
    await Bun.sleep(LOAD_POLL_MS);
    state = native.svc_load_state(load);
    if (state >= 0 && state < LOADED) onProgress(state);
  }
  const model = native.svc_load_finish(load);
  if (model === null) {
    throw new ServiceError(
      "model_unavailable",
      `the model could not be loaded: ${nativeText(native.svc_last_error())}`,
    );
  }
  return model;
}
