// Check of a GGUF file without reading its weights: its header, the values that llama.cpp ends at, and whether all tensors lie within the
// file. Finds other formats and truncated downloads.

import { statSync } from "node:fs";
import { type GgufHeader, GgufProblem } from "./gguf.ts";
import { rangeProblem } from "./gguf-facts.ts";
import { readWholeHeader } from "./gguf-file.ts";
import { modelProblem } from "./model-problem.ts";

export interface CheckedGguf {
  readonly bytes: number;
  readonly header: GgufHeader;
}

/** A sound file. Throws GgufProblem, which says what is wrong without naming the file. */
export function checkGguf(path: string): CheckedGguf {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new GgufProblem("it cannot be opened");
  const header = headerOf(path);
  const range = rangeProblem(header, stat.size);
  const problem = modelProblem(header) ?? (range && `it is truncated: ${range}`);
  if (problem !== undefined) throw new GgufProblem(problem);
  return { bytes: stat.size, header };
}

function headerOf(path: string): GgufHeader {
  try {
    return readWholeHeader(path);
  } catch (error) {
    if (error instanceof GgufProblem) throw error;
    throw new GgufProblem("it cannot be read", { cause: error });
  }
}
