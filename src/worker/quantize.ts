// The quantizer process that src/quantize starts: one call of llama.cpp's quantizer.

import { availableParallelism } from "node:os";
import { unpackBuiltinModel, unpackLibraries } from "../../ffi/embedded.ts";
import { openNative } from "../../ffi/library.ts";
import { quantizeFile } from "../../ffi/llama/quantize.ts";

/** Entry of the hidden command; `words` as quantize/run.ts writes them. Prints "done total" lines. Returns the exit code. */
export function quantizeMain(words: readonly string[]): number {
  const [input = "", output = "", type = "", cacheDir = "", importance = ""] = words;
  const native = openNative(unpackLibraries(cacheDir), 0);
  const reason = quantizeFile(native, {
    input: input === "" ? unpackBuiltinModel(cacheDir) : input,
    output,
    type: Number(type),
    threads: availableParallelism(), // each has rows of its own
    importance: importance === "" ? undefined : importance,
  });
  if (reason === undefined) return 0;
  console.error(reason);
  return 1;
}
