// The quantizer process that src/quantize starts: one call of llama.cpp's quantizer, after an importance matrix was made of a text.

import { availableParallelism } from "node:os";
import { unpackBuiltinModel, unpackLibraries } from "../../ffi/embedded.ts";
import { openNative } from "../../ffi/library.ts";
import { quantizeFile } from "../../ffi/llama/quantize.ts";
import { calibrate } from "./calibrate.ts";

/** Entry of the hidden command; `words` as quantize/run.ts writes them. Prints "done total" lines. Resolves to the exit code. */
export async function quantizeMain(words: readonly string[]): Promise<number> {
  const [given = "", output = "", type = "", cacheDir = "", importance = "", text = ""] = words;
  const native = openNative(unpackLibraries(cacheDir), 0);
  const input = given === "" ? unpackBuiltinModel(cacheDir) : given;
  const threads = availableParallelism(); // each has rows of its own
  try {
    if (text !== "") {
      await calibrate(native, { model: input, text, output: importance, cacheDir, threads });
    }
    const reason = quantizeFile(native, {
      input,
      output,
      type: Number(type),
      threads,
      importance: importance === "" ? undefined : importance,
    });
    if (reason === undefined) return 0;
    console.error(reason);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
  }
  return 1;
}
