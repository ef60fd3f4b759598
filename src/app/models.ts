// Models of the composition root: from settings to models that can be loaded.

import { installedBackends } from "../backends/store.ts";
import { readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import { defined } from "../core/defined.ts";
import { kindOf, modelFile, type ModelOptions, weightsFile } from "./model-files.ts";
import { staticAdapter } from "./static-adapter.ts";
import { modelName } from "../config/model-name.ts";
import { BUILTIN_VOICE_NAME, BUILTIN_VOICES } from "../config/model-settings.ts";
import type { ModelSettings, Settings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { freeMemory } from "../core/free-memory.ts";
import type { EngineMeter } from "../core/telemetry.ts";
import { parseHubId } from "../core/hub-id.ts";
import type { ResidentAdapters } from "../engine/adapters.ts";
import { EngineClient, type EngineClientDeps } from "../engine/client.ts";
import { type ModelRelays, newRelays } from "./rpc.ts";
import { type OpenLink, spawnEngine } from "../engine/host.ts";
import { ManagedModel, type ManagedModelDeps } from "../engine/managed-model.ts";
import { checkMemory } from "../engine/memory-fit.ts";
import { Models, type ServedModel } from "../engine/models.ts";
import { Places } from "../engine/places.ts";
import type { EngineOptions, ImageOptions, SpeechOptions, TextOptions } from "../engine/protocol.ts";
import type { Weights } from "../quantize/requantizer.ts";
import type { Pool } from "../upstream/pool.ts";
import { upstreamConnections, upstreamModel } from "./upstreams.ts";

/** What `[models.multimodal]` says about requests. */
function mediaLimitsOf({ multimodal }: ModelSettings): NonNullable<ServedModel["mediaLimits"]> {
  const { max_num_images: images, max_edge: edge, max_audio_seconds: seconds } = multimodal;
  return {
    ...defined({ imagesMax: images, edgeMax: edge, audioSecondsMax: seconds }),
  };
}

/** Engine options of a voice; config/ has seen to it that one that is not inside svc has its library. */
function speechOptions(
  { model_id: id, format: { speech_library: library } }: Pick<ModelSettings, "model_id" | "format">,
  { settings, cacheDir, verbosity }: ModelOptions,
): SpeechOptions {
  const { threads } = settings.runtime;
  const common = {
    kind: "speech",
    cacheDir,
    verbosity,
    ...defined({ threads }),
  } as const;
  if (library !== undefined) return { ...common, voice: { type: "sherpa", library, folder: id } };
  return { ...common, voice: { type: "flite", name: id.slice(id.indexOf(":") + 1) } };
}

/** What a load of a model comes with. */
interface LoadContext {
  readonly signal: AbortSignal;
  readonly relays: ModelRelays;
}

/** Engine options of one configured text model. Reads the chat template file; config/ has checked that it is there. */
export async function textOptions(
  model: ModelSettings,
  weights: Weights,
  options: ModelOptions,
  { signal, relays }: LoadContext,
): Promise<TextOptions> {
  const { settings, cacheDir, verbosity } = options;
  const { runtime, paged_attn: cache } = settings;
  const template = model.chat_template ?? runtime.chat_template;
  const path = await weightsFile(model, weights, options, { signal, onProgress: () => {} });
  const adapterPath = await staticAdapter(model, path, options);
  return {
    kind: "text",
    ...defined({ modelPath: path, adapterPath, mmprojPath: model.format.mmproj }),
    cacheDir,
    maxSeqs: runtime.max_seqs,
    ...(runtime.no_kv_cache
      ? { prefixCacheN: 0, noKvCache: true as const }
      : {
          prefixCacheN: runtime.prefix_cache_n,
          checkpointBytes: runtime.checkpoint_mb * 1024 * 1024,
          ...speculativeOf(runtime),
        }),
    ...defined({ contextLen: cache.context_len }),
    ...(cache.memory_mb === undefined ? {} : { memoryBytes: cache.memory_mb * 1024 * 1024 }),
    ...defined({ memoryFraction: cache.memory_fraction }),
    cacheType: cache.cache_type === "auto" ? "f16" : cache.cache_type,
    pagedAttn: cache.mode !== "off",
    ...defined({
      maxSeqLen: model.device.max_seq_len,
      threads: runtime.threads,
      threadsBatch: runtime.threads_batch,
    }),
    batch: runtime.batch,
    ubatch: runtime.ubatch,
    ...(template === undefined ? {} : { chatTemplate: readFileSync(template, "utf8") }),
    contentTokens: model.content_tokens ?? [],
    thinkingDefault: model.thinking_default ?? (settings.server.compat === "clients" ? "template" : "on"),
    ...deviceOf(model, cacheDir),
    rpcEndpoints: await relays.endpoints(),
    verbosity,
  };
}

/** Where the layers of a model are computed. Without a layer for an accelerator no back end is loaded. */
function deviceOf(
  { device }: ModelSettings,
  cacheDir: string,
): Pick<TextOptions, "deviceLayers" | "backends"> {
  const deviceLayers = device.cpu ? 0 : (device.device_layers ?? -1);
  return deviceLayers === 0 ? { deviceLayers } : { deviceLayers, backends: installedBackends(cacheDir) };
}

/** Source of draft tokens, by `[runtime]`. */
function speculativeOf(runtime: Settings["runtime"]): Pick<TextOptions, "speculative"> {
  const { speculative: wanted, mtp_model: mtpModel, mtp_n_predict: mtpNPredict } = runtime;
  const type = wanted === "auto" ? (mtpModel === undefined ? "off" : "mtp") : wanted;
  if (type === "off") return {};
  if (type === "ngram") return { speculative: { type } };
  const mtpDraftSampling = runtime.mtp_draft_sampling === "greedy" ? "greedy" : "probabilistic";
  return { speculative: { type, mtpNPredict, mtpDraftSampling, ...defined({ mtpModel }) } };
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
      ...defined({ vae, clipL, clipG, t5xxl, llm }),
    },
    cacheDir,
    verbosity,
    ...defined({ threads, steps, guidance }),
  };
}

async function engineOptions(
  model: ModelSettings,
  weights: Weights,
  options: ModelOptions,
  context: LoadContext,
): Promise<EngineOptions> {
  switch (kindOf(model)) {
    case "image":
      return imageOptions(model, options, context.signal);
    case "speech":
      return speechOptions(model, options);
    case "text":
      return textOptions(model, weights, options, context);
  }
}

/** Configured weights of an entry. */
export function ownWeights({ quantization: { isq, imatrix } }: ModelSettings): Weights {
  return {
    ...defined({ type: isq, importance: imatrix }),
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
  /** Told of the pool of each upstream model. */
  readonly onPool?: (pool: Pool) => void;
}

/** The configured models and, where none of them speaks, the built-in voice; none of them loaded yet. */
export function createModels(options: ModelOptions, parts: ModelParts = {}): Models {
  const { settings, log } = options;
  const places = new Places(settings.server.max_loaded_models);
  const upstreams = { connections: upstreamConnections(), models: () => models };
  const configured = settings.models.map((model): ServedModel => {
    const id = modelName(model);
    if (model.kind === "upstream") {
      const pool = upstreamModel(model, options, upstreams);
      parts.onPool?.(pool.pool);
      return { id, kind: kindOf(model), mediaLimits: mediaLimitsOf(model), model: pool };
    }
    const { weightsOf = ownWeights } = parts;
    const relays = newRelays(model);
    const prepare = (signal: AbortSignal): Promise<EngineOptions> =>
      engineOptions(model, weightsOf(model), options, { signal, relays });
    const repo = isAbsolute(model.model_id) ? undefined : parseHubId(model.model_id)?.repo;
    return {
      id,
      kind: kindOf(model),
      ...defined({ root: repo }),
      mediaLimits: mediaLimitsOf(model),
      model: managed(id, { prepare, places, lossOf: () => relays.loss() }, options, parts),
    };
  });
  const models = new Models([...configured, ...builtinVoice(configured, options, parts)], {
    defaultId: settings.default_model_id,
    seed: settings.global.seed,
    places,
    log,
  });
  return models;
}

const BUILTIN_VOICE = { model_id: BUILTIN_VOICES[0], format: { format: "gguf" } } as const;

/** Too small to count against max_loaded_models; loaded at its first request. */
function builtinVoice(
  configured: readonly ServedModel[],
  options: ModelOptions,
  parts: ModelParts,
): readonly ServedModel[] {
  const id = BUILTIN_VOICE_NAME;
  if (configured.some((model) => model.kind === "speech" || model.id === id)) return [];
  const prepare = async (): Promise<EngineOptions> => speechOptions(BUILTIN_VOICE, options);
  const model = managed(id, { prepare, places: new Places() }, options, parts);
  return [{ id, kind: "speech", isLazy: true, model }];
}

function managed(
  name: string,
  { lossOf, ...own }: Pick<ManagedModelDeps, "prepare" | "places"> & Pick<EngineClientDeps, "lossOf">,
  options: ModelOptions,
  { resident, newMeter }: ModelParts,
): ManagedModel {
  const { queue_max: queueMax, idle_timeout: idleSecs } = options.settings.server;
  const { hang_timeout: timeoutSecs } = options.settings.runtime;
  const log = (line: string): void => options.log(`${name}: ${line}`);
  const openLink: OpenLink = (handlers) => spawnEngine(handlers, processEnvironment());
  const adapters = resident?.get(name);
  const meter = newMeter?.(); // one for all the engines that the model will have
  return new ManagedModel({
    ...own,
    checkMemory: (engine) => checkMemory(engine, freeMemory()),
    startEngine: (engine) =>
      new EngineClient({
        name,
        options: engine,
        openLink,
        queueMax,
        log,
        ...defined({ lossOf }),
        ...(timeoutSecs === 0 ? {} : { timeoutMs: timeoutSecs * 1000 }),
        ...defined({ adapters, meter }),
        ...(options.loading === undefined ? {} : { onLoading: options.loading(name) }),
      }),
    queueMax: options.settings.runtime.max_seqs + queueMax, // places once it is loaded
    ...(idleSecs === undefined ? {} : { idleMs: idleSecs * 1000 }),
    log,
  });
}
