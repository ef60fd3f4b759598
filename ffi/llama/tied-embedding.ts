// The embedding of tokens where it is the output matrix, too. llama.cpp copies it when the output layer is on a device.

import { type TensorInfo } from "../../src/core/gguf.ts";
import { readGgufHeader } from "../../src/core/gguf-file.ts";
import { partPaths } from "../../src/core/model-files.ts";

const EMBEDDING = "token_embd.weight";
const OUTPUT = "output.weight";

/** Bytes of the copy; 0 where the model has an output matrix of its own. */
export function copiedEmbeddingBytes(path: string): number {
  const headers = partPaths(path).map((part) => [...readGgufHeader(part).tensors.values()]);
  if (headers.flat().some(({ name }) => name === OUTPUT)) return 0;
  return Math.max(0, ...headers.map(embeddingBytes));
}

/** Up to the next tensor of its file. */
function embeddingBytes(tensors: readonly TensorInfo[]): number {
  const sorted = tensors.toSorted((a, b) => a.offset - b.offset);
  const index = sorted.findIndex(({ name }) => name === EMBEDDING);
  const [own, next] = index < 0 ? [] : sorted.slice(index, index + 2);
  return own === undefined || next === undefined ? 0 : next.offset - own.offset;
}
