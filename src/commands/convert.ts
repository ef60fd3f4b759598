// `svc convert`: a GGUF file from a model in safetensors.

import { existsSync, statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { convertFolder, converterType, isConvertible } from "../models/convert.ts";
import { safetensorsFolder } from "../models/model-files.ts";
import { EXIT, type Invocation } from "../cli/invocation.ts";
import type { Loaded } from "../config/resolve.ts";
import type { Settings } from "../config/settings.ts";
import { itemAt } from "../core/assert.ts";
import { parseHubId } from "../core/hub-id.ts";
import { FILE_TYPE_NAMES, fileTypeOf, needsImportance } from "../core/quantization.ts";
import { asideOf, removeTemporary } from "../core/temporary.ts";
import { ProgressLog } from "../hub/progress.ts";
import { quantize } from "../quantize/run.ts";
import { type CommandHost, failed, stoppable } from "./host.ts";

type Convert = Extract<Invocation, { command: "convert" }>;

/** Converts a folder or a repository of the hub; never overwrites a file. */
export async function convertModel(
  { settings }: Loaded,
  invocation: Convert,
  host: CommandHost,
): Promise<number> {
  const { source, type, python, installsTorch } = invocation;
  const direct = converterType(type);
  const isDirect = direct !== "auto" || type.toLowerCase() === "auto";
  const quantized = isDirect ? undefined : fileTypeOf(type);
  const name = basename(resolve(source)).replace(/[@:].*$/, "");
  const target = resolve(
    invocation.output ?? `${name}${type.toLowerCase() === "auto" ? "" : `-${quantized ?? type}`}.gguf`,
  );
  const problem =
    sourceProblem(source) ??
    typeProblem(type, isDirect, quantized) ??
    (existsSync(target) ? `${target} exists. Name another file with --output, or delete it.` : undefined);
  if (problem !== undefined) {
    host.complain(`svc: convert: ${problem}`);
    return EXIT.usage;
  }
  const signal = stoppable(host, "it was stopped");
  const { cacheDir, log } = host.options;
  const first = quantized === undefined ? target : asideOf(target);
  try {
    const folder = await folderOf(source, settings, host, signal);
    const meter = host.options.progress?.(name) ?? new ProgressLog(log, { verb: "converting" });
    const how = { python, cacheDir, signal, log, installsTorch, meter, quantized, name };
    await convertFolder(folder, direct, first, how);
    if (quantized !== undefined) {
      await quantize({ input: first, output: target, type: quantized, cacheDir }, () => {}, signal);
    }
  } catch (error) {
    return failed(host, error);
  } finally {
    if (first !== target) removeTemporary(dirname(first));
  }
  console.log(target);
  return EXIT.ok;
}

/** Why a source names no model. */
function sourceProblem(source: string): string | undefined {
  const local = resolve(source);
  if (!existsSync(local)) {
    if (parseHubId(source) !== undefined) return undefined;
    return `${source}: there is no such folder, and it names no repository owner/name.`;
  }
  if (!statSync(local).isDirectory())
    return `${source} is a file. Name the folder with config.json and *.safetensors; svc quantize changes the type of a GGUF file.`;
  if (isConvertible(local)) return undefined;
  return `${source} is not a model in safetensors: it needs config.json and *.safetensors.`;
}

function typeProblem(
  type: string,
  isDirect: boolean,
  quantized: ReturnType<typeof fileTypeOf>,
): string | undefined {
  if (!isDirect && quantized === undefined)
    return `"${type}" is not a type. Types: f32, f16, bf16, q8_0, auto, ${FILE_TYPE_NAMES.join(", ")}.`;
  if (quantized === undefined || !needsImportance(quantized)) return undefined;
  return `${quantized} needs an importance matrix. Convert to auto, then use svc quantize with --imatrix FILE.`;
}

/** The folder of a source, downloaded where it is a repository. Throws a sentence for people. */
function folderOf(
  source: string,
  settings: Settings,
  host: CommandHost,
  signal: AbortSignal,
): Promise<string> | string {
  const local = resolve(source);
  const id = existsSync(local) ? undefined : parseHubId(source);
  return id === undefined ? local : safetensorsFolder(id, itemAt(settings.models, 0), host.options, signal);
}
