// The composition root: builds engines and the HTTP application from settings. Everything is handed what it needs here;
// nothing else knows who works with whom.

import { readFileSync } from "node:fs";
import { BUILTIN_MODEL_ID, type ModelSettings, type Settings } from "./config/settings.ts";
import { plainConverse } from "./agent/plain.ts";
import { modelName } from "./config/model-name.ts";
import { processEnvironment } from "./config/sources.ts";
import { DRAIN_MS, FLUSH_MS } from "./core/limits.ts";
import type { Generate } from "./core/run.ts";
import { VERSION } from "./core/version.ts";
import { EngineClient } from "./engine/client.ts";
import { spawnEngine } from "./engine/host.ts";
import { Models } from "./engine/models.ts";
import type { EngineOptions } from "./engine/protocol.ts";
import { createHttp, listen, type Listening } from "./http/server.ts";

export interface AppOptions {
  readonly settings: Settings;
  /** Private folder for unpacked libraries and the built-in model. */
  readonly cacheDir: string;
  /** Native log level for the engines. */
  readonly verbosity: number;
  /** Silence on a stream after which a comment is sent, milliseconds. */
  readonly keepAliveMs?: number;
  readonly log: (line: string) => void;
}

/** Engine options of one configured model. Reads the chat template file; config/ has checked that it is there. */
function engineOptions(model: ModelSettings, { settings, cacheDir, verbosity }: AppOptions): EngineOptions {
  const { runtime, paged_attn: cache } = settings;
  const template = model.chat_template ?? runtime.chat_template;
  return {
    ...(model.model_id === BUILTIN_MODEL_ID ? {} : { modelPath: model.model_id }),
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

/** Starts an engine process for every configured model; loading goes on in the background. */
export function startModels(options: AppOptions): Models {
  const { settings, log } = options;
  const served = settings.models.map((model) => ({
    id: modelName(model),
    engine: new EngineClient({
      name: modelName(model),
      options: engineOptions(model, options),
      openLink: (handlers) => spawnEngine(handlers, processEnvironment()),
      queueMax: settings.server.queue_max,
      log: (line) => log(`${modelName(model)}: ${line}`),
    }),
  }));
  return new Models(served, settings.default_model_id, settings.global.seed);
}

/** A server that answers. */
export interface RunningServer {
  readonly models: Models;
  readonly port: number;
  /** Stops: no new requests, running ones finish up to a deadline, engines end. */
  close(): Promise<void>;
}

/** Listens at once and loads the models meanwhile. Throws what Bun throws when the port can't be had. */
export function startServer(options: AppOptions): RunningServer {
  const { settings, log, keepAliveMs } = options;
  let draining = false;
  let models: Models | undefined;
  const generate: Generate = (request, signal) => served().generate(request, signal);
  const app = createHttp({
    generate,
    converse: plainConverse(generate),
    embed: (request, signal) => served().embed(request, signal),
    models: () => served().list(),
    fingerprint: `svc-${VERSION}`,
    draining: () => draining,
    log,
    ...(keepAliveMs === undefined ? {} : { keepAliveMs }),
  });
  // The port comes first: if it is taken, no model has been loaded in vain.
  const server = listen(app, { hostname: settings.server.host, port: settings.server.port });
  const running = startModels(options);
  models = running;
  function served(): Models {
    if (models === undefined) throw new Error("a request arrived before the models were set up");
    return models;
  }
  return {
    models: running,
    port: server.port,
    close: async () => {
      draining = true;
      await drain(server, running);
    },
  };
}

/**
 * Waits for running requests up to the deadline, then ends everything. An answer that is complete may still be on its way
 * to a slow reader, and one that was not learns so from its last frame: both get their time before connections are cut.
 */
async function drain(server: Listening, models: Models): Promise<void> {
  const deadline = performance.now() + DRAIN_MS;
  while (models.activeRuns() > 0 && performance.now() < deadline) await Bun.sleep(20);
  await models.stop();
  const leftMs = Math.max(FLUSH_MS, deadline - performance.now());
  await Promise.race([server.stop(false), Bun.sleep(leftMs)]);
  await server.stop(true);
}
