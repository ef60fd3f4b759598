// Plausibility check of a GGUF file: reads its header; its last tensor must begin before the file ends. Finds other formats
// and truncated downloads without reading the weights.

import { statSync } from "node:fs";
import { type GgufHeader, readGgufHeader } from "../core/gguf.ts";
import { modelProblem } from "../core/model-problem.ts";

export interface GgufFacts {
  readonly bytes: number;
  readonly tensors: number;
}

/** Facts of a sound file. Throws an Error that says what is wrong, without naming the file. */
export function checkGguf(path: string): GgufFacts {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size;
  if (bytes === undefined) throw new Error("it cannot be opened");
  const header = headerOf(path);
  const { tensors } = header;
  for (const { offset } of tensors.values()) if (!(offset < bytes)) throw broken();
  const problem = modelProblem(header);
  if (problem !== undefined) throw new Error(problem);
  return { bytes, tensors: tensors.size };
}

function headerOf(path: string): GgufHeader {
  try {
    return readGgufHeader(path);
  } catch (error) {
    if (error instanceof RangeError) throw broken();
    if (error instanceof Error && "code" in error) throw new Error("it cannot be read", { cause: error });
    throw error;
  }
}

function broken(): Error {
  return new Error("it is truncated, or its header is damaged");
}
