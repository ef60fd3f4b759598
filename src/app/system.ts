// System information and doctor: for a server, and for `svc doctor` without one.

import { isAbsolute } from "node:path";
import { installedBackends } from "../backends/store.ts";
import { defined } from "../core/defined.ts";
import { reasonOf } from "../core/reason.ts";
import { fileFacts } from "../models/file-facts.ts";
import type { ModelOptions } from "../models/model-files.ts";
import { modelName } from "../config/model-name.ts";
import { BUILTIN_MODEL_ID } from "../config/model-settings.ts";
import { isBuiltinVoice } from "../core/voice-names.ts";
import type { ModelSettings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import type { ModelInfo } from "../core/model-info.ts";
import type { DoctorReport, EngineHost } from "../core/system.ts";
import { EngineClient } from "../engine/client.ts";
import { spawnEngine } from "../engine/host.ts";
import type { Models } from "../engine/models.ts";
import type { System } from "../http/deps.ts";
import { type DoctorDeps, examine, type ModelFacts } from "../system/doctor.ts";
import { usableDrivers } from "./backend-advice.ts";
import { askUpstreams } from "./upstreams.ts";
import { rpcChecks } from "./rpc.ts";
import { describeSystem } from "../system/info.ts";

/** As little of the built-in model as makes an engine start. */
export const PROBE_ENGINE = {
  kind: "text",
  maxSeqs: 1,
  prefixCacheN: 0,
  cells: 256,
  cacheType: "f16",
  pagedAttn: true,
  batch: 32,
  ubatch: 32,
  deviceLayers: 0,
} as const;

/** Only engines of text models look at the machine. */
const NOT_YET = { failure: "no text model has been loaded yet" } as const;

/** System information of a server that listens on `port` and serves these models. */
export function newSystem(options: ModelOptions, models: Models, port: () => number): System {
  const servesText = models.list().some(({ kind }) => kind === "text");
  const doctor = (): Promise<DoctorReport> =>
    examine({
      ...doctorDeps(options, models.list()),
      host: async () => models.host() ?? (servesText ? NOT_YET : probeHost(options)),
      port: port(),
      isListening: true,
    });
  const { compat } = options.settings.server;
  return {
    info: shared(() =>
      describeSystem(compat, {
        host: models.host(),
        models: models.describe(),
        usersOf: (device) => models.usersOf(device),
      }),
    ),
    doctor: shared(doctor),
  };
}

/** Looks for trouble without a server. */
export function runDoctor(options: ModelOptions): Promise<DoctorReport> {
  return examine({
    ...doctorDeps(options, []),
    host: () => probeHost(options),
    port: options.settings.server.port,
    isListening: false,
  });
}

/** Facts of the machine, from an engine with the built-in model that is started for this. */
export async function probeHost({
  cacheDir,
  verbosity,
  log,
}: Pick<ModelOptions, "cacheDir" | "verbosity" | "log">): Promise<EngineHost | { readonly failure: string }> {
  const engine = new EngineClient({
    name: BUILTIN_MODEL_ID,
    options: { ...PROBE_ENGINE, cacheDir, verbosity, backends: installedBackends(cacheDir) },
    openLink: (handlers) => spawnEngine(handlers, processEnvironment()),
    queueMax: 1,
    log,
  });
  try {
    await engine.ready();
    return engine.host ?? { failure: "it sent no facts about the machine" };
  } catch (error) {
    return { failure: reasonOf(error) };
  } finally {
    await engine.stop();
  }
}

function doctorDeps({ settings, cacheDir, log }: ModelOptions, served: readonly ModelInfo[]) {
  return {
    models: modelFacts({ settings, cacheDir, log }, served),
    drivers: usableDrivers(),
    rpcChecks: () => rpcChecks(settings.models),
    cacheDir,
    hostname: settings.server.host,
    now: () => new Date(),
  } satisfies Partial<DoctorDeps>;
}

function modelFacts(
  { settings, cacheDir, log }: Pick<ModelOptions, "settings" | "cacheDir" | "log">,
  served: readonly ModelInfo[],
): readonly ModelFacts[] {
  return settings.models.map((model) => {
    const id = modelName(model);
    const card = served.find((one) => one.id === id);
    const isLoaded = card?.status === "loaded";
    const known = defined({ failure: card?.error, leavesOut: card?.leavesOut });
    const source = sourceOf(model, log);
    if (source.type !== "file") return { id, source, isLoaded, ...known };
    const facts = factsOf(model, { settings, cacheDir });
    const ofFile = {
      isBase: facts?.chatTemplate === "none",
      ...defined({ memoryBytes: facts?.memoryBytes }),
    };
    return { id, source: { ...source, ...ofFile }, isLoaded, ...known };
  });
}

/** What a model's file says; undefined where it cannot be read, which its check will say. */
function factsOf(...facts: Parameters<typeof fileFacts>): ReturnType<typeof fileFacts> {
  try {
    return fileFacts(...facts);
  } catch {
    return undefined;
  }
}

/** config/ has made the paths of files absolute; what is not one is a name of the hub. */
function sourceOf(model: ModelSettings, log: (line: string) => void): ModelFacts["source"] {
  const { model_id: source, kind } = model;
  if (kind === "upstream") return { type: "upstream", ask: () => askUpstreams(model, log) };
  if (kind === "image") return { type: "image" };
  if (source === BUILTIN_MODEL_ID || isBuiltinVoice(source)) return { type: "built-in" };
  if (kind === "speech") return { type: "voice" };
  return isAbsolute(source) ? { type: "file", path: source } : { type: "hub" };
}

/** Concurrent calls share one result: the work starts processes. */
function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => (running ??= work().finally(() => (running = undefined)));
}
