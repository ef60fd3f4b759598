// A model file as it is loaded, and what follows from it for the context that is made for it.

import { cacheCells } from "../src/core/cache-size.ts";
import { ServiceError } from "../src/core/error.ts";
import { freeMemory } from "../src/core/free-memory.ts";
import { readGgufHeader } from "../src/core/gguf.ts";
import { SLOTS_MAX } from "../src/core/limits.ts";
import { modelProblem } from "../src/core/model-problem.ts";
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

/** Elements that a model keeps of each token. */
function cellElements({ n_layer, n_head_kv, head_dim_k, head_dim_v }: ModelInfo): number {
  return n_layer * n_head_kv * (head_dim_k + head_dim_v);
}

/** Cells of the KV cache of a model that is loaded; one that guesses for it keeps as many. */
export function chooseCells(options: TextOptions, info: ModelInfo, draft?: ModelInfo): number {
  const elements = cellElements(info) + (draft === undefined ? 0 : cellElements(draft));
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

/** A GGUF file to load. */
export interface ModelFile {
  readonly path: string;
  readonly gpuLayers: number;
  /** With its layers that predict several tokens, if there are any. */
  readonly withHead: boolean;
  /** What errors call it. */
  readonly name: string;
}

/** Of what ends this process instead of being an error, all that the file's header tells. */
function refuseBroken(path: string, name: string): void {
  let problem: string | undefined;
  try {
    problem = modelProblem(readGgufHeader(path));
  } catch {
    return; // llama.cpp says what is wrong with it
  }
  if (problem === undefined) return;
  throw new ServiceError("model_unavailable", `${name} could not be loaded: its file is broken: ${problem}`);
}

/** Loads a file, reporting parts per thousand. Throws ServiceError(model_unavailable) with llama.cpp's reason. */
export async function loadModel(
  native: Native,
  { path, gpuLayers, withHead, name }: ModelFile,
  onProgress: (permille: number) => void,
): Promise<Handle> {
  refuseBroken(path, name);
  const params = Int32Array.of(gpuLayers, 0, 1, 0, 0, 0, withHead ? 1 : 0);
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
      `${name} could not be loaded: ${nativeText(native.svc_last_error())}`,
    );
  }
  return model;
}
