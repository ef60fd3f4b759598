// Quantized copies of models in svc's cache, created on demand.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { defined } from "../core/defined.ts";
import { type FileType, needsImportance } from "../core/quantization.ts";
import { lossWarning, quantize } from "./run.ts";

export interface CopyOptions {
  /** GGUF file; absent: the built-in model. */
  readonly input: string | undefined;
  readonly type: FileType;
  readonly importance: string | undefined;
  /** Text that an importance matrix is made of; without `importance`. */
  readonly calibration: string | undefined;
  readonly cacheDir: string;
  readonly signal: AbortSignal;
  /** Parts per thousand. */
  readonly onProgress: (permille: number) => void;
  /** A copy is made of weights that are coarse already; or a text is read first. */
  readonly warn: (warning: string) => void;
}

/** Path of the quantized copy; creating it takes minutes. Throws an Error with the reason. */
export async function quantizedCopy(options: CopyOptions): Promise<string> {
  const { input, type, importance, calibration, cacheDir, signal, onProgress, warn } = options;
  if (needsImportance(type) && importance === undefined && calibration === undefined)
    throw new Error(`${type} needs an importance matrix: set imatrix, or calibration_file.`);
  const folder = join(cacheDir, "quantized");
  const key = keyOf([input, importance ?? calibration]);
  const output = join(folder, `${nameOf(input)}-${type}-${key}.gguf`);
  if (existsSync(output)) return output;
  const warning = input === undefined ? undefined : lossWarning(input, type);
  if (warning !== undefined) warn(warning);
  if (calibration !== undefined) warn(`it reads ${basename(calibration)} first, at its speed for prompts`);
  mkdirSync(folder, { recursive: true });
  await quantize(
    { output, type, cacheDir, ...defined({ input, importance, calibration }) },
    (done, total) => onProgress(Math.floor((done / total) * 1000)),
    signal,
  );
  return output;
}

function nameOf(input: string | undefined): string {
  return input === undefined ? "svc-tiny" : basename(input, ".gguf");
}

/** Key of the input files: another file, or other content, needs another copy. */
function keyOf(files: readonly (string | undefined)[]): string {
  const digest = createHash("sha256");
  for (const file of files) {
    if (file === undefined) continue;
    const { size, mtimeMs } = statSync(file);
    digest.update(`${file}\0${size}\0${mtimeMs}\0`);
  }
  return digest.digest("hex").slice(0, 12);
}
