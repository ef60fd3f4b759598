// The process that src/measure/machine.ts starts: what a model has to do, and one measurement of memory and cores.

import { unpackBuiltinModel, unpackLibraries } from "../../ffi/embedded.ts";
import { openNative } from "../../ffi/library.ts";
import { machineSpeed } from "../../ffi/llama/machine-speed.ts";
import { freeMemory } from "../core/free-memory.ts";
import type { MachineReport } from "../core/measure.ts";
import { readWork, weightBytes } from "../core/model-work.ts";

/** Reads of more bytes are as fast: caches are smaller. */
const BYTES_MAX = 1 << 30;

/** Entry of the hidden command: `MODEL THREADS MILLISECONDS CACHE_DIR [BYTES]`. Prints a MachineReport. Returns the exit code. */
export function machineSpeedMain(words: readonly string[]): number {
  const [model = "", threads = "", milliseconds = "", cacheDir = "", bytes = ""] = words;
  try {
    const work = readWork(model === "" ? unpackBuiltinModel(cacheDir) : model);
    const native = openNative(unpackLibraries(cacheDir), 0);
    const machine = machineSpeed(native, {
      // As a pass reads, so that caches hold as much of them. The measured engine keeps its memory meanwhile.
      bytes: Math.floor(Math.min(Number(bytes) || weightBytes(work), BYTES_MAX, freeMemory() / 2)),
      type: work.type,
      threads: Number(threads),
      milliseconds: Number(milliseconds),
    });
    const report: MachineReport = { work, machine };
    console.log(JSON.stringify(report));
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  }
}
