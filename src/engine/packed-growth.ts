// Weights that take more memory once they are packed for the processor than in their file: ffi/kernels/packed_layout_grids.h.
// An engine packs IQ2 and IQ3 only if the model then takes at most four fifths of the free memory: people choose them to save memory. Last
// bits of answers so depend on the free memory at the load, as they do on the processor.

import { tensorGroups } from "../core/gguf-facts.ts";
import { readGgufHeader } from "../core/gguf-file.ts";
import { partPaths } from "../core/model-files.ts";
import { memoryNeed, totalBytes } from "./memory-fit.ts";
import type { TextOptions } from "./protocol.ts";

/** Bytes of 256 packed weights and of those in a file, by type. */
const GROWING: Readonly<Record<string, readonly [packed: number, file: number]>> = {
  IQ2_XXS: [114, 66],
  IQ2_XS: [114, 74],
  IQ2_S: [114, 82],
  IQ3_XXS: [138, 98],
  IQ3_S: [138, 110],
};

/** Part of the free memory that a model with larger weights may take: the rest is for what the estimate does not know. */
const USABLE = 0.8;

/** Bytes that packing adds to the weights of a model's file and its other parts; 0 for a file that cannot be read. */
export function packedGrowth(modelPath: string): number {
  try {
    const groups = tensorGroups(partPaths(modelPath).map((part) => readGgufHeader(part)));
    return groups.reduce((sum, { type, bytes }) => {
      const [packed, file] = GROWING[type] ?? [1, 1];
      return sum + bytes * (packed / file - 1);
    }, 0);
  } catch {
    return 0; // llama.cpp will say what is wrong with the file
  }
}

/** Whether there is no room for a model's weights in their packed form. They are computed as in the file then, which is slower. */
export function lacksRoomToPack(options: TextOptions, freeBytes: number): boolean {
  const { modelPath } = options;
  const growth = modelPath === undefined ? 0 : packedGrowth(modelPath);
  if (modelPath === undefined || growth === 0) return false;
  const need = memoryNeed(modelPath, options, freeBytes);
  return need !== undefined && totalBytes(need) + growth > USABLE * freeBytes;
}
