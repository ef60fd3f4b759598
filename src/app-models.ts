// The part of the composition root that is about models: from settings to models that can be loaded.

import { readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import { modelName } from "./config/model-name.ts";
import { BUILTIN_MODEL_ID } from "./config/model-settings.ts";
import type { ModelSettings, Settings } from "./config/settings.ts";
import { processEnvironment } from "./config/sources.ts";
import { freeMemory } from "./core/free-memory.ts";
import type { ModelKind } from "./core/model-info.ts";
import type { EngineMeter } from "./core/telemetry.ts";
import { formatRepo, parseHubId } from "./core/hub-id.ts";
import type { ResidentAdapters } from "./engine/adapters.ts";
import { EngineClient } from "./engine/client.ts";
import { type OpenLink, spawnEngine } from "./engine/host.ts";
import { ManagedModel } from "./engine/managed-model.ts";
import { checkMemory } from "./engine/memory-fit.ts";
import { Models, type ServedModel } from "./engine/models.ts";
import { Places } from "./engine/places.ts";
import type { EngineOptions, ImageOptions, TextOptions } from "./engine/protocol.ts";
import { fetchModel, type FetchOptions } from "./hub/fetch-model.ts";
import { hubPlace } from "./hub/place.ts";
import { ProgressLog, type ProgressMeter } from "./hub/progress.ts";
import { quantizedCopy } from "./quantize/copy.ts";
import type { Weights } from "./quantize/requantizer.ts";
import { readToken } from "./hub/token.ts";

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
 * take hours.
 */
export async function modelFile(
  model: ModelSettings,
  options: ModelOptions,
  { signal, refresh = false }: FileOptions,
): Promise<string> {
  const id = parseHubId(model.model_id);
  if (isAbsolute(model.model_id) || id === undefined) return model.model_id;
  const { quant } = model.quantization;
  const file = model.format.quantized_file;
  const wanted = {
    ...id,
    ...(quant === undefined ? {} : { quant }),
    ...(file === undefined ? {} : { file }),
  };
  return withHub(model, formatRepo(id), options, (hub) => fetchModel(wanted, { ...hub, signal, refresh }));
}

/** Works with the hub on behalf of a model's entry, showing how far it is. */
export async function withHub<T>(
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

/** What answers are fitted to. Each waits for the model as a request does. */
export function abilitiesOf(models: Models) {
  return {
    contextTokens: (name: string, signal: AbortSignal) => models.contextTokens(name, signal),
    media: (name: string, signal: AbortSignal) => models.media(name, signal),
  };
}

/** What `[models.multimodal]` says about requests. */
function mediaLimitsOf({ multimodal }: ModelSettings): NonNullable<ServedModel["mediaLimits"]> {
  const { max_num_images: images, max_edge: edge, max_audio_seconds: seconds } = multimodal;
  return {
    ...(images === undefined ? {} : { imagesMax: images }),
    ...(edge === undefined ? {} : { edgeMax: edge }),
    ...(seconds === undefined ? {} : { audioSecondsMax: seconds }),
  };
}

/** What an entry's model makes. */
function kindOf({ kind }: ModelSettings): ModelKind {
  return kind === "image" || kind === "speech" ? kind : "text";
}

/** Engine options of one configured text model. Reads the chat template file; config/ has checked that it is there. */
export async function textOptions(
  model: ModelSettings,
  weights: Weights,
  options: ModelOptions,
  signal: AbortSignal,
): Promise<TextOptions> {
  const { settings, cacheDir, verbosity } = options;
  const { runtime, paged_attn: cache } = settings;
  const template = model.chat_template ?? runtime.chat_template;
  const path = await weightsFile(model, weights, options, { signal, onProgress: () => {} });
  return {
    kind: "text",
    ...(path === undefined ? {} : { modelPath: path }),
    ...(model.format.mmproj === undefined ? {} : { mmprojPath: model.format.mmproj }),
    cacheDir,
    maxSeqs: runtime.max_seqs,
    prefixesMax: runtime.prefix_cache_n,
    ...(cache.context_len === undefined ? {} : { cells: cache.context_len }),
    ...(cache.memory_mb === undefined ? {} : { cacheBytes: cache.memory_mb * 1024 * 1024 }),
    ...(cache.memory_fraction === undefined ? {} : { cacheFraction: cache.memory_fraction }),
    cacheType: cache.cache_type === "auto" ? "f16" : cache.cache_type,
    unified: cache.mode !== "off",
    ...(model.device.max_seq_len === undefined ? {} : { contextTokens: model.device.max_seq_len }),
    ...(runtime.threads === undefined ? {} : { threads: runtime.threads }),
    ...(runtime.threads_batch === undefined ? {} : { threadsBatch: runtime.threads_batch }),
    batch: runtime.batch,
    ubatch: runtime.ubatch,
    ...(template === undefined ? {} : { chatTemplate: readFileSync(template, "utf8") }),
    gpuLayers: model.device.cpu ? 0 : (model.device.device_layers ?? -1),
    verbosity,
  };
}

/** Engine options of one configured image model. */
async function imageOptions(
  model: ModelSettings,
  options: ModelOptions,
  signal: AbortSignal,
): Promise<ImageOptions> {
  const { settings, cacheDir, verbosity } = options;
  const { diffusion_model: diffusionModel, vae, clip_l: clipL, clip_g: clipG, t5xxl, llm } = model.format;
  const { steps, guidance } = model.image;
  const { threads } = settings.runtime;
  const weights =
    diffusionModel === undefined
      ? { model: await modelFile(model, options, { signal }) }
      : { diffusionModel };
  return {
    kind: "image",
    files: {
      ...weights,
      ...(vae === undefined ? {} : { vae }),
      ...(clipL === undefined ? {} : { clipL }),
      ...(clipG === undefined ? {} : { clipG }),
      ...(t5xxl === undefined ? {} : { t5xxl }),
      ...(llm === undefined ? {} : { llm }),
    },
    cacheDir,
    verbosity,
    ...(threads === undefined ? {} : { threads }),
    ...(steps === undefined ? {} : { steps }),
    ...(guidance === undefined ? {} : { guidance }),
  };
}

function engineOptions(
  model: ModelSettings,
  weights: Weights,
  options: ModelOptions,
  signal: AbortSignal,
): Promise<EngineOptions> {
  return kindOf(model) === "image"
    ? imageOptions(model, options, signal)
    : textOptions(model, weights, options, signal);
}

/** What an entry's weights are from the start. */
export function ownWeights({ quantization: { isq, imatrix } }: ModelSettings): Weights {
  return {
    ...(isq === undefined ? {} : { type: isq }),
    ...(imatrix === undefined ? {} : { importance: imatrix }),
  };
}

/** What models work together with; each may be absent. */
export interface ModelParts {
  /** What the engines of a model hold besides it, by its id. */
  readonly resident?: ReadonlyMap<string, ResidentAdapters>;
  /** What a model's weights are now, where they can change. */
  readonly weightsOf?: (model: ModelSettings) => Weights;
  /** Makes what takes a model's numbers. */
  readonly newMeter?: (() => EngineMeter) | undefined;
}

/** The configured models, none of them loaded yet. */
export function createModels(
  options: ModelOptions,
  { resident, weightsOf = ownWeights, newMeter }: ModelParts = {},
): Models {
  const { settings, log } = options;
  const { queue_max: queueMax, idle_timeout: idleSecs, max_loaded_models: max } = settings.server;
  const places = new Places(max);
  const served = settings.models.map((model): ServedModel => {
    const say = (line: string): void => log(`${modelName(model)}: ${line}`);
    const openLink: OpenLink = (handlers) => spawnEngine(handlers, processEnvironment());
    const adapters = resident?.get(modelName(model));
    const held = adapters === undefined ? {} : { adapters };
    const meter = newMeter?.(); // one for all the engines that the model will have
    const repo = isAbsolute(model.model_id) ? undefined : parseHubId(model.model_id)?.repo;
    return {
      id: modelName(model),
      kind: kindOf(model),
      ...(repo === undefined ? {} : { root: repo }),
      mediaLimits: mediaLimitsOf(model),
      model: new ManagedModel({
        prepare: (signal) => engineOptions(model, weightsOf(model), options, signal),
        checkMemory: (engine) => checkMemory(engine, freeMemory()),
        startEngine: (engine) =>
          new EngineClient({
            name: modelName(model),
            options: engine,
            openLink,
            queueMax,
            log: say,
            ...held,
            ...(meter === undefined ? {} : { meter }),
            ...(options.loading === undefined ? {} : { onLoading: options.loading(modelName(model)) }),
          }),
        places,
        queueMax: settings.runtime.max_seqs + queueMax, // once it is loaded, so many have a place
        ...(idleSecs === undefined ? {} : { idleMs: idleSecs * 1000 }),
        log: say,
      }),
    };
  });
  return new Models(served, {
    defaultId: settings.default_model_id,
    seed: settings.global.seed,
    places,
    log,
  });
}
