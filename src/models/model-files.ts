// Fetches the files of models and adapters that settings name, where they are not on this machine.

import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { modelName } from "../config/model-name.ts";
import { BUILTIN_MODEL_ID } from "../config/model-settings.ts";
import { isVoiceName } from "../core/voice-names.ts";
import type { ModelSettings, Settings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { ggufFacts } from "../core/gguf-facts.ts";
import { knowHeaders, readGgufHeader } from "../core/gguf-file.ts";
import { formatRepo, type HubId, parseHubId } from "../core/hub-id.ts";
import type { ModelKind } from "../core/model-info.ts";
import { checkConvertedRoom, convertedFile } from "../hub/converted.ts";
import { fetchAdapter } from "../hub/fetch-adapter.ts";
import {
  fetchFolder,
  fetchModel,
  type FetchOptions,
  fetchPlanned,
  fetchSafetensors,
} from "../hub/fetch-model.ts";
import { type Companions, NO_COMPANIONS, SafetensorsOnly } from "../hub/plan.ts";
import { planSource } from "../hub/url-plan.ts";
import { convertFolder } from "./convert.ts";
import { type MachineFacts, modelChooser } from "./hub-fit.ts";
import { companionsOf, hubIdOf, placeOf } from "./locate.ts";
import { getContent, type OpenContent } from "../hub/api.ts";
import { ProgressLog, type ProgressMeter } from "../hub/progress.ts";
import { readToken } from "../hub/token.ts";
import { ADAPTER_FILES } from "../lora/source.ts";
import { quantizedCopy } from "../quantize/copy.ts";
import type { Weights } from "../quantize/requantizer.ts";

/** Kind of an entry's model. */
export function kindOf({ kind, model_id, serves }: ModelSettings): ModelKind {
  if (kind === "upstream") return serves ?? "text";
  if (kind === "auto") return isVoiceName(model_id) ? "speech" : "text";
  return kind === "image" || kind === "speech" ? kind : "text";
}

export interface ModelOptions {
  readonly settings: Settings;
  /** No model is named: the built-in toy is there until another one is. */
  readonly isToyUnasked?: boolean;
  /** Private folder for unpacked libraries and the built-in model. */
  readonly cacheDir: string;
  /** Native log level for the engines. */
  readonly verbosity: number;
  readonly log: (line: string) => void;
  /** Facts of this machine, by which one of a repository's models is chosen; absent: the usual quantization is. */
  readonly machine?: MachineFacts;
  /** Shows how far a download is; absent: lines of the log do. */
  readonly progress?: (name: string) => ProgressMeter;
  /** Shows how far a model is loaded, parts per thousand; 1000 is the last. */
  readonly loading?: (name: string) => (permille: number) => void;
}

export interface FileOptions {
  readonly signal: AbortSignal;
  /** Ask the hub even where its cache has the model. */
  readonly refresh?: boolean;
  /** Whether servers shall serve it from now on. */
  readonly isServed?: boolean;
  /** What is downloaded with it; absent: nothing. */
  readonly companions?: Companions;
}

/**
 * Path of an entry's model, BUILTIN_MODEL_ID for the one inside the executable. Downloads it where it has to, which can
 * take hours. Throws for a voice, which has no weights that one could measure or change.
 */
export async function modelFile(
  model: ModelSettings,
  options: ModelOptions,
  fileOptions: FileOptions,
): Promise<string> {
  if (model.kind === "upstream")
    throw new Error(`${modelName(model)} runs on upstream servers, so it has no file on this machine`);
  if (kindOf(model) === "speech")
    throw new Error(`${modelName(model)} is a speech model; this requires a text model`);
  const id = hubIdOf(model);
  if (id === undefined) return model.model_id;
  const isConverting =
    options.settings.global.auto_convert && id.quant === undefined && id.file === undefined;
  try {
    return await withHub(model, formatRepo(id), options, (hub) => fetchModel(id, { ...hub, ...fileOptions }));
  } catch (error) {
    if (!(error instanceof SafetensorsOnly) || !isConverting) throw error;
    return convertedModel(id, model, options, fileOptions);
  }
}

/** Path of the file at a URL that the operator names, which may be of any address; downloads it. */
export async function urlFile(
  url: string,
  model: ModelSettings,
  options: ModelOptions,
  fileOptions: FileOptions,
): Promise<string> {
  const openUrl = (address: string): OpenContent => {
    return (part, signal) => getContent(address, { token: undefined, part, signal });
  };
  return withHub(model, url, options, async (hub) => {
    const wanted = { source: url, companions: fileOptions.companions ?? NO_COMPANIONS };
    const plan = await planSource(wanted, { ...hub, ...fileOptions }, openUrl);
    return fetchPlanned(plan, { ...hub, ...fileOptions });
  });
}

/** Converts the repository of an entry; returns the path of the GGUF file beside its sources. */
async function convertedModel(
  id: HubId,
  model: ModelSettings,
  options: ModelOptions,
  { signal, isServed = false }: FileOptions,
): Promise<string> {
  const source = await safetensorsFolder(id, model, options, signal);
  const { cacheDir: hubDir } = placeOf(model);
  const log = (line: string): void => options.log(`${modelName(model)}: ${line}`);
  const { settings, cacheDir } = options;
  const { models_max_bytes: maxBytes } = settings.server;
  const limit = maxBytes === undefined ? undefined : { cacheDir: hubDir, maxBytes };
  const how = {
    python: settings.runtime.code_exec_python,
    cacheDir,
    signal,
    log,
    installsTorch: false,
    name: basename(id.repo),
    checkRoom: (bytes: number) => checkConvertedRoom(bytes, hubDir, limit),
    meter: options.progress?.(formatRepo(id)) ?? new ProgressLog(log, { verb: "converting" }),
  };
  return convertedFile({
    cacheDir: hubDir,
    id,
    write: (output) => convertFolder(source, "auto", output, how),
    typeOf: (file) => ggufFacts([readGgufHeader(file)]).quantization,
    isServed,
    onWait: () => log("another process is converting it; waiting"),
    signal,
  });
}

/** Folder of a repository with safetensors; downloads it where it has to. */
export function safetensorsFolder(
  id: HubId,
  model: ModelSettings,
  options: ModelOptions,
  signal: AbortSignal,
): Promise<string> {
  return withHub(model, formatRepo(id), options, (hub) => fetchSafetensors(id, { ...hub, signal }));
}

/** Works with the hub on behalf of a model's entry, showing how far it is. */
async function withHub<T>(
  model: ModelSettings,
  title: string,
  options: ModelOptions,
  work: (hub: FetchOptions) => Promise<T>,
): Promise<T> {
  const place = placeOf(model);
  const log = (line: string): void => options.log(`${modelName(model)}: ${line}`);
  const meter = options.progress?.(title) ?? new ProgressLog(log);
  const { machine } = options;
  try {
    return await work({
      ...(machine === undefined ? {} : { choose: modelChooser({ ...options, machine, place }) }),
      place,
      token: () => readToken(options.settings.global.token_source, place, processEnvironment()),
      onProgress: (progress) => meter.update(progress),
      log,
      maxBytes: options.settings.server.models_max_bytes,
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
  { type, importance, calibration }: Weights,
  options: ModelOptions,
  { signal, onProgress }: WeightsOptions,
): Promise<string | undefined> {
  const isBuiltin = model.model_id === BUILTIN_MODEL_ID;
  const input = isBuiltin
    ? undefined
    : await modelFile(model, options, { signal, companions: companionsOf(model) });
  if (type === undefined) return input;
  if (input !== undefined) await knowHeaders([input]);
  const warn = (warning: string): void => options.log(`${modelName(model)}: ${warning}`);
  const { cacheDir } = options;
  return quantizedCopy({ input, type, importance, calibration, cacheDir, signal, onProgress, warn });
}

/** An adapter, or a folder of adapters, that settings name. */
export interface AdapterSource {
  /** A folder, a GGUF file, or a repository of the hub, which may name its file: `owner/name:file.gguf`. */
  readonly source: string;
  readonly revision?: string | undefined;
  /** Files of a folder of adapters, relative to it; absent: it is one adapter. */
  readonly files?: readonly string[];
}

/** The folder or file on this machine that holds an adapter; downloads it where it is a repository of the hub. */
export async function adapterPath(
  { source, revision, files }: AdapterSource,
  model: ModelSettings,
  options: ModelOptions,
): Promise<string> {
  const local = resolve(source);
  const id = parseHubId(source);
  if (id === undefined || existsSync(local)) return local;
  const wanted: HubId = revision === undefined ? id : { ...id, revision };
  return withHub(model, formatRepo(wanted), options, (hub) =>
    files === undefined ? fetchAdapter(wanted, ADAPTER_FILES, hub) : fetchFolder(wanted, files, hub),
  );
}
