// Conversion of safetensors in the composition root: scripts, Python environment and sandbox.

import { readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { PYTHON_BY_DEFAULT } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import type { FileType } from "../core/quantization.ts";
import { reasonOf } from "../core/reason.ts";
import { sizeText } from "../core/size-text.ts";
import { hasSafetensors } from "../core/model-files.ts";
import { checkFolder, checkTokenizer } from "../convert/check.ts";
import { convertedBytes } from "../convert/estimate.ts";
import { unknownArchitecture } from "../convert/architectures.ts";
import { readableFiles } from "../convert/folder.ts";
import { openEnvironment } from "../convert/environment.ts";
import { CONVERT_CPU_SECS, CONVERT_FILE_BYTES, CONVERT_MEMORY_MB, CONVERT_PROCS } from "../convert/limits.ts";
import { closedFile, convert, CONVERTER_TYPES, type ConverterType } from "../convert/run.ts";
import { unpackConverter } from "../convert/scripts.ts";
import { checkConvertedRoom } from "../hub/converted.ts";
import type { ProgressMeter } from "../hub/progress.ts";
import { openConfined } from "../sandbox/confined.ts";

/** Python of Linux distributions, which has their python3-torch: another one may come first in PATH. */
const SYSTEM_PYTHON = "/usr/bin/python3";

/** What numpy_torch.py says where it cannot take PyTorch's place. */
const NEEDS_TORCH = /needs PyTorch/;

const LIMITS = {
  memoryMb: CONVERT_MEMORY_MB,
  cpuSecs: CONVERT_CPU_SECS,
  procs: CONVERT_PROCS,
  fileBytes: CONVERT_FILE_BYTES,
};

export interface ConvertOptions {
  readonly cacheDir: string;
  readonly log: (line: string) => void;
  /** Base Python of the converter's environment. */
  readonly python: string;
  /** Whether PyTorch may be downloaded. */
  readonly installsTorch: boolean;
  readonly signal: AbortSignal;
  /** Throws where there is no room for a file of about this size; absent: as the disk of the output has it. */
  readonly checkRoom?: (bytes: number) => void;
  readonly meter: ProgressMeter;
  /** Name of the model; absent: its folder's. */
  readonly name?: string;
  /** A file of this type is made of it on the same disk afterwards. */
  readonly quantized?: FileType | undefined;
}

/** About what a quantized file takes: a bit more than its type's bits a weight. */
function quantizedBytes(source: string, type: FileType | undefined): number {
  if (type === undefined) return 0;
  const bits = /F(\d+)$/.exec(type)?.[1] ?? Number(/\d/.exec(type)?.[0]) + 1;
  return Math.ceil((convertedBytes(source, "f32") * Number(bits)) / 32);
}

/** Whether a folder holds a model in safetensors. */
export function isConvertible(folder: string): boolean {
  return hasSafetensors(readdirSync(folder));
}

/** The type that the converter writes on the way to `type`. */
export function converterType(type: string): ConverterType {
  return CONVERTER_TYPES.find((own) => own === type.toLowerCase()) ?? "auto";
}

/** Writes `output`, a GGUF file of a type that the converter writes. Throws a sentence for people. */
export async function convertFolder(
  source: string,
  type: ConverterType,
  output: string,
  options: ConvertOptions,
): Promise<void> {
  const { python, cacheDir, signal, log, installsTorch, meter, name = basename(source) } = options;
  readableFiles(source); // before anything in it is read
  const unknown = unknownArchitecture(source);
  if (unknown !== undefined)
    throw new Error(`llama.cpp's converter does not support the architecture ${unknown} of ${name}`);
  const closed = closedFile(source);
  if (closed !== undefined) throw new Error(closed);
  const totalBytes = convertedBytes(source, type);
  const { checkRoom = (bytes) => checkConvertedRoom(bytes, dirname(output)) } = options;
  checkRoom(totalBytes + quantizedBytes(source, options.quantized));
  const sandbox = await openConfined({
    program: "the converter",
    limits: LIMITS,
    environment: processEnvironment(),
    disk: { bytes: Infinity, entries: Infinity },
  });
  const scripts = unpackConverter(cacheDir);
  const { version } = scripts;
  const pythons = python === PYTHON_BY_DEFAULT ? ([python, SYSTEM_PYTHON] as const) : ([python] as const);
  log(`converting ${name}`);
  const onProgress = (percent: number): void =>
    meter.update({ doneBytes: Math.round((totalBytes * percent) / 100), totalBytes });
  const run = async (needsTorch: boolean): Promise<void> => {
    const wanted = { pythons, cacheDir, version, needsTorch, installsTorch, signal, log };
    const environment = await openEnvironment(wanted);
    checkFolder(source);
    checkTokenizer(source);
    const parts = { sandbox, environment, scripts };
    const peak = await convert({ source, name, type, output, onProgress }, parts, signal);
    if (peak !== undefined) log(`converted ${name} with at most ${sizeText(peak)} of memory`);
  };
  try {
    await run(false);
  } catch (error) {
    if (!NEEDS_TORCH.test(reasonOf(error))) throw error;
    log(`${reasonOf(error)}: trying PyTorch`);
    await run(true);
  } finally {
    meter.stop();
  }
}
