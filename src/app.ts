// The composition root: builds engines and the HTTP application from settings. Everything is handed what it needs here;
// nothing else knows who works with whom.

import { readFileSync } from "node:fs";
import { accessLine, inBatches } from "./http/access-log.ts";
import { BUILTIN_MODEL_ID, type ModelSettings, type Settings } from "./config/settings.ts";
import { plainConverse } from "./agent/plain.ts";
import { modelName } from "./config/model-name.ts";
import { processEnvironment } from "./config/sources.ts";
import { DRAIN_MS, FLUSH_MS } from "./core/limits.ts";
import type { Generate } from "./core/run.ts";
import type { ModelInfo } from "./core/model-info.ts";
import type { DoctorReport, EngineHost } from "./core/system.ts";
import { VERSION } from "./core/version.ts";
import { EngineClient } from "./engine/client.ts";
import { spawnEngine } from "./engine/host.ts";
import { Models } from "./engine/models.ts";
import type { EngineOptions } from "./engine/protocol.ts";
import type { HttpDeps, System } from "./http/deps.ts";
import { createHttp, listen, type Listening } from "./http/server.ts";
import { Metrics } from "./metrics/metrics.ts";
import { examine, type ModelFacts } from "./system/doctor.ts";
import { describeSystem } from "./system/info.ts";

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

/** As little of the built-in model as makes an engine start. */
const PROBE_ENGINE = {
  maxSeqs: 1,
  prefixesMax: 0,
  cells: 256,
  cacheType: "f16",
  unified: true,
  batch: 32,
  ubatch: 32,
  gpuLayers: 0,
} as const;

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
export function startModels(options: AppOptions, metrics?: Metrics): Models {
  const { settings, log } = options;
  const served = settings.models.map((model) => ({
    id: modelName(model),
    engine: new EngineClient({
      options: engineOptions(model, options),
      openLink: (handlers) => spawnEngine(handlers, processEnvironment()),
      queueMax: settings.server.queue_max,
      log: (line) => log(`${modelName(model)}: ${line}`),
      ...(metrics === undefined ? {} : { meter: metrics.newEngine() }),
    }),
  }));
  return new Models(served, settings.default_model_id, settings.global.seed);
}

/** What is told about each request, besides metrics. */
function observers({ settings, log }: AppOptions): Pick<HttpDeps, "accessLog" | "requestIdHeader"> {
  const { server } = settings;
  const requestIdHeader = !server.disable_request_id_header;
  if (server.disable_access_log) return { requestIdHeader };
  const write = inBatches(log);
  return {
    requestIdHeader,
    accessLog: (request) => {
      if (request.housekeeping && !server.access_log_health) return;
      write(accessLine(request, server.access_log_format, new Date()));
    },
  };
}

/** What the machine looks like to a server with these models. */
function newSystem({ settings, cacheDir }: AppOptions, models: () => Models, port: () => number): System {
  const { host: hostname } = settings.server;
  const doctor = (): Promise<DoctorReport> =>
    examine({
      host: async () => models().host() ?? { failure: "no model has been loaded yet" },
      models: modelFacts(settings, models().list()),
      cacheDir,
      hostname,
      port: port(),
      isListening: true,
      now: () => new Date(),
    });
  return {
    info: shared(() => describeSystem(models().host(), models().describe())),
    doctor: shared(doctor),
  };
}

function modelFacts({ models }: Settings, served: readonly ModelInfo[]): readonly ModelFacts[] {
  return models.map((model) => {
    const id = modelName(model);
    return {
      id,
      file: model.model_id === BUILTIN_MODEL_ID ? undefined : model.model_id,
      isLoaded: served.some((one) => one.id === id && one.status === "loaded"),
    };
  });
}

/** Whoever asks while it is being done waits for the same result: such work starts processes. */
function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => (running ??= work().finally(() => (running = undefined)));
}

/** Looks for trouble without a server: an engine with the built-in model shows what the machine offers. */
export async function runDoctor({ settings, cacheDir, verbosity, log }: AppOptions): Promise<DoctorReport> {
  const engine = new EngineClient({
    options: { ...PROBE_ENGINE, cacheDir, verbosity },
    openLink: (handlers) => spawnEngine(handlers, processEnvironment()),
    queueMax: 1,
    log,
  });
  const host = async (): Promise<EngineHost | { readonly failure: string }> => {
    try {
      await engine.ready();
    } catch (error) {
      return { failure: error instanceof Error ? error.message : String(error) };
    }
    return engine.host ?? { failure: "it told nothing" };
  };
  const { host: hostname, port } = settings.server;
  const models = modelFacts(settings, []);
  try {
    return await examine({
      host,
      models,
      cacheDir,
      hostname,
      port,
      isListening: false,
      now: () => new Date(),
    });
  } finally {
    await engine.stop();
  }
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
  const metrics = settings.server.disable_metrics ? undefined : new Metrics();
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
    system: newSystem(options, served, () => server.port),
    ...observers(options),
    ...(metrics === undefined ? {} : { metrics }),
    ...(settings.server.api_keys === undefined ? {} : { apiKeys: settings.server.api_keys }),
    ...(keepAliveMs === undefined ? {} : { keepAliveMs }),
  });
  // The port comes first: if it is taken, no model has been loaded in vain.
  const server = listen(app, { hostname: settings.server.host, port: settings.server.port });
  const running = startModels(options, metrics);
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
