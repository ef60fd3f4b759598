// The part of the composition root that is about models: from settings to models that can be loaded.

import { readFileSync } from "node:fs";
import { modelName } from "./config/model-name.ts";
import { BUILTIN_MODEL_ID, type ModelSettings, type Settings } from "./config/settings.ts";
import { processEnvironment } from "./config/sources.ts";
import { freeMemory } from "./core/free-memory.ts";
import { EngineClient } from "./engine/client.ts";
import { type OpenLink, spawnEngine } from "./engine/host.ts";
import { ManagedModel } from "./engine/managed-model.ts";
import { checkMemory } from "./engine/memory-fit.ts";
import { Models, type ServedModel } from "./engine/models.ts";
import { Places } from "./engine/places.ts";
import type { EngineOptions } from "./engine/protocol.ts";

export interface ModelOptions {
  readonly settings: Settings;
  /** Private folder for unpacked libraries and the built-in model. */
  readonly cacheDir: string;
  /** Native log level for the engines. */
  readonly verbosity: number;
  readonly log: (line: string) => void;
}

/** Engine options of one configured model. Reads the chat template file; config/ has checked that it is there. */
function engineOptions(model: ModelSettings, { settings, cacheDir, verbosity }: ModelOptions): EngineOptions {
  const { runtime, paged_attn: cache } = settings;
  const template = model.chat_template ?? runtime.chat_template;
  const isBuiltin = model.model_id === BUILTIN_MODEL_ID;
  return {
    ...(isBuiltin ? {} : { modelPath: model.model_id }),
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

/** The configured models, none of them loaded yet. */
export function createModels(options: ModelOptions): Models {
  const { settings, log } = options;
  const { queue_max: queueMax, idle_timeout: idleSecs, max_loaded_models: max } = settings.server;
  const places = new Places(max);
  const served = settings.models.map((model): ServedModel => {
    const say = (line: string): void => log(`${modelName(model)}: ${line}`);
    const openLink: OpenLink = (handlers) => spawnEngine(handlers, processEnvironment());
    return {
      id: modelName(model),
      model: new ManagedModel({
        prepare: async () => engineOptions(model, options),
        checkMemory: (engine) => checkMemory(engine, freeMemory()),
        startEngine: (engine) => new EngineClient({ options: engine, openLink, queueMax, log: say }),
        places,
        queueMax,
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
