// llama.cpp's own pooling of token vectors, called directly: the reference that our embedder is measured against.

import { dlopen, read, toArrayBuffer } from "bun:ffi";
import { join } from "node:path";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { nativeText } from "../../ffi/text.ts";
import { libraryDir, native } from "./native.ts";
import { POOLING } from "./tiny-models.ts";

const BATCH = 512;
const F16 = 1;
/** Where the shim's context keeps llama.cpp's, behind the pointer to the model (ffi/shim/model.h). */
const CONTEXT_OFFSET = 8;

/** The pooled vector of one input, of unit length. `pooling` is asked of llama.cpp whatever the model says. */
export function pooledByLlama(
  backend: LlamaBackend,
  tokens: Int32Array,
  pooling: keyof typeof POOLING,
): Float32Array {
  const values = rawByLlama(backend, tokens, pooling, backend.embedder().dimensions);
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}

/** The same as the model gives it. */
export function rawByLlama(
  backend: LlamaBackend,
  tokens: Int32Array,
  pooling: keyof typeof POOLING,
  dimensions: number,
): Float32Array {
  const shim = native();
  const sizes = [BATCH, BATCH, BATCH, 1, 1, 1, F16, F16];
  const params = Int32Array.from([...sizes, 1, POOLING[pooling], 1, -1, 1, 0]);
  const context = shim.svc_context_new(backend.modelHandle, params, params.length);
  if (context === null) throw new Error(nativeText(shim.svc_last_error()));
  const { symbols: llama } = dlopen(join(libraryDir(), "libllama.so.0"), {
    llama_get_embeddings_seq: { args: ["ptr", "i32"], returns: "ptr" },
  });
  try {
    const places = Int32Array.from(tokens.keys());
    const ones = new Int8Array(tokens.length).fill(1);
    const code = shim.svc_decode(context, tokens.length, tokens, places, new Int32Array(tokens.length), ones);
    if (code !== 0) throw new Error(`decode: ${code}`);
    const inner = read.ptr(context, CONTEXT_OFFSET);
    const vector = llama.llama_get_embeddings_seq(inner, 0);
    if (vector === null) throw new Error("llama.cpp has pooled nothing");
    return new Float32Array(toArrayBuffer(vector, 0, dimensions * 4).slice(0));
  } finally {
    shim.svc_context_free(context);
  }
}
