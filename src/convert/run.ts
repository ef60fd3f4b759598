// Converts a folder with safetensors to a GGUF file with llama.cpp's converter, confined like a tool: it parses
// untrusted files. Not an own converter, which would know every architecture again; not scripts of another release than the engine's.

import { lchownSync, lstatSync, readdirSync, renameSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { BrokenLimit, Sandbox } from "../sandbox/types.ts";
import { reasonLine, type PythonEnvironment } from "./environment.ts";
import { readableFiles } from "./folder.ts";
import { CONVERT_OUTPUT_CHARS } from "./limits.ts";
import { type ConverterScripts, STARTER } from "./scripts.ts";

/** Types that the converter writes itself; other ones are quantized from `auto`. */
export const CONVERTER_TYPES = ["f32", "f16", "bf16", "q8_0", "auto"] as const;
export type ConverterType = (typeof CONVERTER_TYPES)[number];

const FULL = "the disk has no room for the file; delete files, or name another disk with --output";

/** Mode bit: everyone may read. */
const OTHERS_READ = 0o004;

export interface Conversion {
  /** Folder with config.json, the tokenizer and the safetensors. */
  readonly source: string;
  /** Name of the model in its metadata. */
  readonly name: string;
  readonly type: ConverterType;
  /** File to write; it does not exist. */
  readonly output: string;
  /** Told which share of the file is written, percent. */
  readonly onProgress?: (percent: number) => void;
}

export interface ConverterParts {
  readonly sandbox: Sandbox;
  readonly environment: PythonEnvironment;
  readonly scripts: ConverterScripts;
}

/** Writes the file. Returns the most memory that it took, bytes, where the converter says it. Throws the converter's reason. */
export async function convert(
  { source, name, type, output, onProgress }: Conversion,
  { sandbox, environment, scripts }: ConverterParts,
  signal: AbortSignal,
): Promise<number | undefined> {
  const workdir = sandbox.newWorkdir("converted", dirname(output));
  try {
    const made = join(workdir.path, "model.gguf");
    const run = sandbox.spawn({
      argv: [
        environment.python,
        join(scripts.folder, STARTER),
        join(scripts.folder, "convert_hf_to_gguf.py"),
        source,
        "--outfile",
        made,
        "--outtype",
        type,
        "--model-name",
        name,
      ],
      workdir,
      env: { PYTHONDONTWRITEBYTECODE: "1", HF_HUB_OFFLINE: "1", TRANSFORMERS_VERBOSITY: "error" },
      readPaths: [...environment.folders, scripts.folder, ...readableFiles(source)],
    });
    const stop = (): void => run.kill();
    signal.addEventListener("abort", stop, { once: true });
    run.stdout.resume();
    let said = "";
    let told: number | undefined;
    for await (const part of run.stderr) {
      said = (said + String(part)).slice(-CONVERT_OUTPUT_CHARS);
      const percent = writtenPercent(said);
      if (percent !== undefined && percent !== told) onProgress?.(percent);
      told = percent;
    }
    const { code, limit } = await run.ended;
    signal.removeEventListener("abort", stop);
    signal.throwIfAborted();
    if (code !== 0) throw new Error(limit === undefined ? failureReason(said) : limitReason(limit));
    if (lstatSync(made, { throwIfNoEntry: false })?.isFile() !== true)
      throw new Error("the converter has written no file");
    if (workdir.uid !== undefined) lchownSync(made, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
    renameSync(made, output);
    const peak = /^peak memory (\d+) kB$/m.exec(said)?.[1];
    return peak === undefined ? undefined : Number(peak) * 1024;
  } finally {
    await sandbox.removeWorkdir(workdir);
  }
}

/** NumPy says of a write that fails only how much was written. */
function failureReason(said: string): string {
  const reason = reasonLine(said);
  return /\d+ requested and \d+ written$/.test(reason) ? FULL : reason;
}

function limitReason(limit: BrokenLimit): string {
  return limit === "disk" ? FULL : `it took more ${limit} than it may`;
}

/** The share that is written by what the converter has printed last; undefined before it writes. */
export function writtenPercent(said: string): number | undefined {
  const last = [...said.matchAll(/Writing:\s+(\d{1,3})%/g)].at(-1)?.[1];
  return last === undefined ? undefined : Math.min(100, Number(last));
}

/** Why the converter could not read the files: where svc is root, it runs as another user. */
export function closedFile(source: string): string | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const closed = readdirSync(source).find((name) => (statSync(join(source, name)).mode & OTHERS_READ) === 0);
  if (closed === undefined) return undefined;
  return `${closed} is readable by its owner alone, and where svc is root the converter runs as another user. Run chmod -R a+rX on the folder, or svc as the owner.`;
}
