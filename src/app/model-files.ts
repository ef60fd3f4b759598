// Files of the models and adapters that settings name: local, or downloaded from the hub.

import { existsSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { modelName } from "../config/model-name.ts";
import { BUILTIN_MODEL_ID, isBuiltinVoice } from "../config/model-settings.ts";
import type { ModelSettings, Settings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { defined } from "../core/defined.ts";
import { formatRepo, type HubId, parseHubId } from "../core/hub-id.ts";
import type { ModelKind } from "../core/model-info.ts";
import { fetchFolder, fetchModel, type FetchOptions } from "../hub/fetch-model.ts";
import { hubPlace } from "../hub/place.ts";
import { ProgressLog, type ProgressMeter } from "../hub/progress.ts";
import { readToken } from "../hub/token.ts";
import { quantizedCopy } from "../quantize/copy.ts";
import type { Weights } from "../quantize/requantizer.ts";

/** Kind of an entry's model. */
export function kindOf({ kind, model_id, serves }: ModelSettings): ModelKind {
  if (kind === "upstream") return serves ?? "text";
  if (kind === "auto") return isBuiltinVoice(model_id) ? "speech" : "text";
  return kind === "image" || kind === "speech" ? kind : "text";
}

export interface ModelOptions {
  readonly settings: Settings;
  /** Private folder for unpacked libraries and the built-in model. */
  readonly cacheDir: string;
  /** Native log level for the engines. */
  readonly verbosity: number;
  readonly log: (line: string) => void;
  /** Shows how far a download is; absent: lines of the log do. */
  readonly progress?: (name: string) => ProgressMeter;
  /** Shows how far a model is loaded, parts per thousand; 1000 is the last. */
  readonly loading?: (name: string) => (permille: number) => void;
}

export interface FileOptions {
  readonly signal: AbortSignal;
  /** Ask the hub even where its cache has the model. */
  readonly refresh?: boolean;
}

/**
 * Path of an entry's model, BUILTIN_MODEL_ID for the one inside the executable. Downloads it where it has to, which can
 * take hours. Throws for a voice, which has no weights that one could measure or change.
 */
export async function modelFile(
  model: ModelSettings,
  options: ModelOptions,
  { signal, refresh = false }: FileOptions,
): Promise<string> {
  if (model.kind === "upstream")
    throw new Error(`${modelName(model)} runs on upstream servers, so it has no file on this machine`);
  if (kindOf(model) === "speech")
    throw new Error(`${modelName(model)} is a speech model; this requires a text model`);
  const id = parseHubId(model.model_id);
  if (isAbsolute(model.model_id) || id === undefined) return model.model_id;
  const { quant } = model.quantization;
  const file = model.format.quantized_file;
  const wanted = {
    ...id,
    ...defined({ quant, file }),
  };
  return withHub(model, formatRepo(id), options, (hub) => fetchModel(wanted, { ...hub, signal, refresh }));
}

/** Works with the hub on behalf of a model's entry, showing how far it is. */
async function withHub<T>(
  model: ModelSettings,
  title: string,
  options: ModelOptions,
  work: (hub: FetchOptions) => Promise<T>,
): Promise<T> {
  const environment = processEnvironment();
  const place = hubPlace(environment, model.device.hf_cache);
  const log = (line: string): void => options.log(`${modelName(model)}: ${line}`);
  const meter = options.progress?.(title) ?? new ProgressLog(log);
  try {
    return await work({
      place,
      token: () => readToken(options.settings.global.token_source, place, environment),
      onProgress: (progress) => meter.update(progress),
      log,
    });
  } finally {
    meter.stop();
  }
}

export interface WeightsOptions {
  readonly signal: AbortSignal;
  /** Parts per thousand of a quantization. */
  readonly onProgress: (permille: number) => void;
}

/** The file that a model with these weights is loaded from; absent: the built-in model as it is. */
export async function weightsFile(
  model: ModelSettings,
  { type, importance }: Weights,
  options: ModelOptions,
  { signal, onProgress }: WeightsOptions,
): Promise<string | undefined> {
  const isBuiltin = model.model_id === BUILTIN_MODEL_ID;
  const input = isBuiltin ? undefined : await modelFile(model, options, { signal });
  if (type === undefined) return input;
  return quantizedCopy({ input, type, importance, cacheDir: options.cacheDir, signal, onProgress });
}

/** An adapter, or a folder of adapters, that settings name. */
export interface AdapterSource {
  /** A folder, or a repository of the hub. */
  readonly source: string;
  readonly revision?: string | undefined;
  /** Files wanted, relative to the folder. */
  readonly files: readonly string[];
}

/** The folder on this machine that holds an adapter; downloads it where it is a repository of the hub. */
export async function adapterFolder(
  { source, revision, files }: AdapterSource,
  model: ModelSettings,
  options: ModelOptions,
): Promise<string> {
  const local = resolve(source);
  const id = parseHubId(source);
  if (id === undefined || existsSync(local)) return local;
  const wanted: HubId = revision === undefined ? id : { ...id, revision };
  return withHub(model, formatRepo(wanted), options, (hub) => fetchFolder(wanted, files, hub));
}
