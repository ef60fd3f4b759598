// Engine options of a configured model: which settings an engine gets, and under which names. Pure: files, adapters, back ends and
// workers have been found before.

import { defined } from "../core/defined.ts";
import { DEVICE_PROFILES } from "../core/device-profile.ts";
import type { MediaLimits } from "../core/media.ts";
import type { DeviceOptions, ImageOptions, SpeechOptions, TextOptions } from "../engine/protocol.ts";
import type { ModelSettings, Settings } from "./settings.ts";

/** Common options of all engines. */
export interface EngineSettings {
  readonly settings: Settings;
  /** Private folder for unpacked libraries and the built-in model. */
  readonly cacheDir: string;
  /** Native log level. */
  readonly verbosity: number;
}

/** Parts of a text model besides settings. */
export interface TextParts {
  /** Path of the weights; absent: the built-in model. */
  readonly modelPath: string | undefined;
  /** Path of an adapter that is part of the model. */
  readonly adapterPath: string | undefined;
  /** Text of the chat template that replaces the model's own. */
  readonly chatTemplate: string | undefined;
  /** Name of its file, for messages. */
  readonly templateName?: string | undefined;
  readonly rpcEndpoints: NonNullable<TextOptions["rpcEndpoints"]>;
  /** Installed back ends, asked for only if layers may be placed on an accelerator. */
  readonly backends: () => TextOptions["backends"];
}

/** Engine options of a text model. */
export function textOptions(
  model: ModelSettings,
  { settings, cacheDir, verbosity }: EngineSettings,
  { modelPath, adapterPath, chatTemplate, templateName, rpcEndpoints, backends }: TextParts,
): TextOptions {
  const { runtime, paged_attn: cache } = settings;
  return {
    kind: "text",
    ...defined({ modelPath, adapterPath, mmprojPath: model.format.mmproj }),
    cacheDir,
    maxSeqs: runtime.max_seqs,
    ...(runtime.no_kv_cache
      ? { prefixCacheN: 0, noKvCache: true as const }
      : {
          prefixCacheN: runtime.prefix_cache_n,
          checkpointBytes: runtime.checkpoint_mb * 1024 * 1024,
          ...(runtime.cache_scope === "all" ? { cacheScope: "all" as const } : {}),
          ...tiersOf(runtime),
          ...speculativeOf(runtime, model.format.draft),
        }),
    ...(runtime.determinism === "off" ? {} : { batchInvariant: true as const }),
    ...defined({ contextLen: cache.context_len }),
    ...(cache.memory_mb === undefined ? {} : { memoryBytes: cache.memory_mb * 1024 * 1024 }),
    ...defined({ memoryFraction: cache.memory_fraction }),
    cacheType: cache.cache_type === "auto" ? autoCacheType(model) : cache.cache_type,
    pagedAttn: cache.mode !== "off",
    ...defined({
      maxSeqLen: model.device.max_seq_len,
      threads: runtime.threads,
      threadsBatch: runtime.threads_batch,
    }),
    batch: runtime.batch,
    ...microBatches(runtime),
    prefillShare: runtime.prefill_share,
    maxCalls: runtime.max_calls,
    ...defined({ chatTemplate, templateName }),
    contentTokens: model.content_tokens ?? [],
    thinkingDefault: model.thinking_default ?? (settings.server.compat === "clients" ? "template" : "on"),
    ...deviceOf(model, backends),
    rpcEndpoints,
    verbosity,
  };
}

/** Tokens of a micro-batch: as configured, or by where the layers will be. */
function microBatches({
  batch,
  ubatch,
}: Settings["runtime"]): Pick<TextOptions, "ubatch" | "deviceUbatch" | "mixtureUbatch"> {
  if (ubatch !== undefined) return { ubatch };
  const { cpu, device } = DEVICE_PROFILES;
  const [deviceUbatch, mixtureUbatch] = [
    Math.min(device.ubatch, batch),
    Math.min(device.mixtureUbatch, batch),
  ];
  return { ubatch: Math.min(cpu.ubatch, batch), deviceUbatch, mixtureUbatch };
}

/** Placement of a model's layers. Without a layer for an accelerator no back end is loaded. */
function deviceOf({ device }: ModelSettings, backends: TextParts["backends"]): DeviceOptions {
  const deviceLayers = device.cpu ? 0 : (device.device_layers ?? -1);
  if (deviceLayers === 0) return { deviceLayers };
  return {
    deviceLayers,
    ...defined({ backends: backends(), placement: placementOf(device), fallback: device.fallback }),
  };
}

/** Format of keys and values where no setting names one. */
function autoCacheType({ device }: ModelSettings): TextOptions["cacheType"] {
  const isOnCpu = device.cpu || device.device_layers === 0;
  return DEVICE_PROFILES[isOnCpu ? "cpu" : "device"].cacheType;
}

/** How layers are divided between devices; undefined where no setting says it. */
function placementOf(device: ModelSettings["device"]): TextOptions["placement"] {
  const expertsOnCpu = device.cpu_moe ? ("all" as const) : device.n_cpu_moe;
  const { split_mode: splitMode, main_gpu: mainGpu, tensor_split: tensorSplit, memory_mb: most } = device;
  const memoryBytes = most === undefined ? undefined : most * 1024 * 1024;
  const placement = defined({ splitMode, mainGpu, tensorSplit, expertsOnCpu, memoryBytes });
  return Object.keys(placement).length === 0 ? undefined : placement;
}

/** Memory and disk for copies of KV cells. */
function tiersOf(runtime: Settings["runtime"]): Pick<TextOptions, "tiers"> {
  const { cache_ram: memoryMb, cache_disk: folder, cache_disk_mb: diskMb, prefix_cache_n: kept } = runtime;
  if (memoryMb === 0 || kept === 0) return {};
  return {
    tiers: {
      ...(memoryMb === undefined ? {} : { memoryBytes: memoryMb * 1024 * 1024 }),
      ...(folder === undefined ? {} : { disk: { folder, bytesMax: diskMb * 1024 * 1024 } }),
    },
  };
}

/** Source of draft tokens, by `[runtime]`. `own`: the draft model of the model itself. */
function speculativeOf(
  runtime: Settings["runtime"],
  own: string | undefined,
): Pick<TextOptions, "speculative"> {
  const { speculative: wanted } = runtime;
  const mtpModel = own ?? runtime.mtp_model;
  const type = wanted === "auto" ? (mtpModel === undefined ? "auto" : "mtp") : wanted;
  if (type === "off") return {};
  if (type === "auto" || type === "grammar" || type === "ngram") return { speculative: { type } };
  const mtpDraftSampling = runtime.mtp_draft_sampling === "greedy" ? "greedy" : "probabilistic";
  return {
    speculative: { type, ...draftTokens(runtime), mtpDraftSampling, ...defined({ mtpModel }) },
  };
}

/** Most tokens of a draft: as configured, or by where the layers will be. */
function draftTokens({ mtp_n_predict: chosen }: Settings["runtime"]) {
  const { cpu, device } = DEVICE_PROFILES;
  return chosen === undefined
    ? { mtpNPredict: cpu.draftTokens, deviceNPredict: device.draftTokens }
    : { mtpNPredict: chosen };
}

/**
 * Engine options of an image model. `modelPath`: its checkpoint, absent where `diffusion_model` replaces it. `backends`: as for text
 * models.
 */
export function imageOptions(
  model: ModelSettings,
  { settings, cacheDir, verbosity }: EngineSettings,
  modelPath: string | undefined,
  backends: TextParts["backends"],
): ImageOptions {
  const { diffusion_model: diffusionModel, vae, clip_l: clipL, clip_g: clipG, t5xxl, llm } = model.format;
  const { steps, guidance } = model.image;
  const { threads } = settings.runtime;
  return {
    kind: "image",
    files: {
      ...defined({ model: modelPath, diffusionModel, vae, clipL, clipG, t5xxl, llm }),
    },
    cacheDir,
    verbosity,
    ...deviceOf(model, backends),
    ...defined({ threads, steps, guidance }),
  };
}

/** Engine options of a voice. */
export function speechOptions(
  voice: SpeechOptions["voice"],
  { settings, cacheDir, verbosity }: EngineSettings,
): SpeechOptions {
  return { kind: "speech", voice, cacheDir, verbosity, ...defined({ threads: settings.runtime.threads }) };
}

/** Limits of media in requests, from `[models.multimodal]`. */
export function mediaLimitsOf({ multimodal }: ModelSettings): MediaLimits {
  const { max_num_images: images, max_edge: edge, max_audio_seconds: seconds } = multimodal;
  return defined({
    imagesMax: images,
    edgeMax: edge,
    audioSecondsMax: seconds,
    videoFramesMax: multimodal.max_video_frames,
  });
}
