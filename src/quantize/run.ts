// Quantizes a model file in a child process: it takes minutes of all cores and gigabytes of memory, and must neither delay
// the engine nor crash the server.

import { existsSync, renameSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { ggufFacts } from "../core/gguf-facts.ts";
import { readGgufHeader } from "../core/gguf-file.ts";
import { ownCommand } from "../core/own-command.ts";
import { type FileType, fileTypeNumber } from "../core/quantization.ts";
import { asideOf, removeTemporary } from "../core/temporary.ts";
import {
  mergeParts,
  type QuantizedPart,
  type TensorType,
  typedTensors,
  writePart,
  writePartImportance,
} from "./tensor-types.ts";

export interface Quantization {
  /** Absent: the built-in model. */
  readonly input?: string;
  readonly output: string;
  readonly type: FileType;
  /** Importance matrix of llama-imatrix, or of a calibration. */
  readonly importance?: string;
  /** Text that an importance matrix is made of; without `importance`. */
  readonly calibration?: string;
  /** Tensors with types of their own; not for the built-in model. */
  readonly tensorTypes?: readonly TensorType[];
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
  return [work.input ?? "", output, type, work.cacheDir, work.importance ?? "", work.calibration ?? ""];
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
  const partial = asideOf(work.output);
  const matrix = `${partial}.imatrix`;
  const whole = work.calibration === undefined ? work : { ...work, importance: matrix };
  try {
    await runWorker(whole, partial, onProgress, signal);
    if (whole.input !== undefined && (whole.tensorTypes ?? []).length > 0)
      await withTensorTypes({ ...whole, input: whole.input }, partial, signal);
    renameSync(partial, work.output);
  } finally {
    removeTemporary(dirname(partial));
  }
}

/** Gives single tensors of a quantized file types of their own. */
async function withTensorTypes(
  work: Quantization & { readonly input: string },
  whole: string,
  signal: AbortSignal,
): Promise<void> {
  const made: string[] = [];
  const temporary = (name: string): string => {
    const path = `${whole}.${name}`;
    made.push(path);
    return path;
  };
  try {
    const parts: QuantizedPart[] = [];
    for (const [type, names] of typedTensors(work.input, work.tensorTypes ?? [])) {
      const [source, path, importance] = ["in", "out", "matrix"].map((what) => temporary(`${type}.${what}`));
      if (source === undefined || path === undefined || importance === undefined) continue;
      writePart(work.input, names, source);
      if (work.importance !== undefined) writePartImportance(work.importance, names, importance);
      const one = { input: source, output: path, type, cacheDir: work.cacheDir };
      await runWorker(existsSync(importance) ? { ...one, importance } : one, path, () => {}, signal);
      parts.push({ path, names });
    }
    const merged = temporary("merged");
    mergeParts(whole, parts, merged);
    renameSync(merged, whole);
  } finally {
    for (const path of made) rmSync(path, { force: true });
  }
}

/** Runs the process that quantizes to `output`. */
async function runWorker(
  work: Quantization,
  output: string,
  onProgress: (done: number, total: number) => void,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const child = Bun.spawn([...ownCommand(), "quantize-worker", ...wordsOf(work, output)], {
    stdio: ["ignore", "pipe", "pipe", "pipe"], // the last one: core/parent-pipe.ts
    signal,
  });
  const [, reason, code] = await Promise.all([
    readProgress(child.stdout, onProgress),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  signal.throwIfAborted();
  if (code === 0) return;
  if (WRITE_FAILED.test(reason))
    throw new Error(
      `${dirname(work.output)} has no room for the file, or cannot be written; name another place with --output`,
    );
  throw new Error(reason.trim() === "" ? `it exited with code ${code}` : reason.trim());
}

/** What C++ streams say of a write that fails. */
const WRITE_FAILED = /iostream error/;

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
