// Quantizes a model file in a child process: it takes minutes of all cores and gigabytes of memory, and must neither delay
// the engine nor crash the server.

import { rmSync, renameSync } from "node:fs";
import { basename } from "node:path";
import { ggufFacts } from "../core/gguf-facts.ts";
import { readGgufHeader } from "../core/gguf-file.ts";
import { ownCommand } from "../core/own-command.ts";
import { type FileType, fileTypeNumber } from "../core/quantization.ts";

export interface Quantization {
  /** Absent: the built-in model. */
  readonly input?: string;
  readonly output: string;
  readonly type: FileType;
  /** Importance matrix of llama-imatrix, or of a calibration. */
  readonly importance?: string;
  /** Folder of unpacked native libraries. */
  readonly cacheDir: string;
}

/** Types that lose so little that another one can be made of them. */
const FINE: ReadonlySet<string> = new Set(["F32", "F16", "BF16", "Q8_0"]);

/** A warning where the weights of `input` are coarse already, so that another type adds its error to theirs. */
export function lossWarning(input: string, type: FileType): string | undefined {
  const { quantization = "F32" } = ggufFacts([readGgufHeader(input)]);
  if (FINE.has(quantization) || quantization === type) return undefined;
  return `${basename(input)} holds ${quantization} weights, whose error stays in ${type}; a file of F16, BF16 or Q8_0 weights gives better ones`;
}

/** Arguments of the hidden command, in the order that the worker reads. */
function wordsOf(work: Quantization, output: string): string[] {
  const type = String(fileTypeNumber(work.type));
  return [work.input ?? "", output, type, work.cacheDir, work.importance ?? ""];
}

/**
 * Writes `output` atomically. Reports tensors done and in total. Throws an Error with the reason; an abort kills the process
 * and rejects with the signal's reason.
 */
export async function quantize(
  work: Quantization,
  onProgress: (done: number, total: number) => void,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const partial = `${work.output}.part`;
  const child = Bun.spawn([...ownCommand(), "quantize-worker", ...wordsOf(work, partial)], {
    stdio: ["ignore", "pipe", "pipe", "pipe"], // the last one: core/parent-pipe.ts
    signal,
  });
  try {
    const [, reason, code] = await Promise.all([
      readProgress(child.stdout, onProgress),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    signal.throwIfAborted();
    if (code !== 0) throw new Error(reason.trim() === "" ? `it exited with code ${code}` : reason.trim());
    renameSync(partial, work.output);
  } finally {
    rmSync(partial, { force: true });
  }
}

/** Lines "done total". */
async function readProgress(
  output: ReadableStream<Uint8Array>,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of output) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [done = 0, total = 0] = line.split(" ").map(Number);
      if (total > 0) onProgress(done, total);
    }
  }
}
