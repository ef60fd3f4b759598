// Models of the composition root: from settings to models that can be loaded.

import { installedBackends } from "../backends/store.ts";
import { readFileSync } from "node:fs";
import { basename, isAbsolute } from "node:path";
import { defined } from "../core/defined.ts";
import { rememberedFacts } from "../models/file-facts.ts";
import { loadControl } from "../models/load-control.ts";
import { withCompanions } from "../models/locate.ts";
import { type ModelChoices, withLoad } from "../models/model-choices.ts";
import { folderModels } from "../models/model-folder.ts";
import { kindOf, modelFile, type ModelOptions, weightsFile } from "../models/model-files.ts";
import { modelPreset } from "../models/presets.ts";
import { pulledModels } from "../models/pulled-models.ts";
import { staticAdapter } from "../models/static-adapter.ts";
import { templateFile } from "../config/chat-template.ts";
import { imageOptions, mediaLimitsOf, speechOptions, textOptions } from "../config/engine-options.ts";
import { modelName } from "../config/model-name.ts";
import { BUILTIN_VOICES } from "../core/voice-names.ts";
import { BUILTIN_VOICE_NAME } from "../config/model-settings.ts";
import type { ModelSettings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { durationMs } from "../core/duration.ts";
import { ServiceError } from "../core/error.ts";
import { freeMemory } from "../core/free-memory.ts";
import { knowHeaders } from "../core/gguf-file.ts";
import { partPaths } from "../core/model-files.ts";
import type { EngineMeter } from "../core/telemetry.ts";
import { parseHubId } from "../core/hub-id.ts";
import type { ResidentAdapters } from "../engine/adapters.ts";
import { EngineClient } from "../engine/client.ts";
import type { EngineClientDeps } from "../engine/client-deps.ts";
import { type ModelRelays, newRelays } from "./rpc.ts";
import { engineEnvironment, spawnEngine } from "../engine/host.ts";
import { ManagedModel } from "../engine/managed-model.ts";
import type { ManagedModelDeps } from "../engine/managed-model-deps.ts";
import { type Card, claimsOf } from "../engine/claims.ts";
import { checkMemory } from "../engine/memory-fit.ts";
import { cardsOf, deviceCapacity, workerClaim } from "../models/device-capacity.ts";
import { Models } from "../engine/models.ts";
import type { ServedModel } from "../engine/served-model.ts";
import { Places } from "../engine/places.ts";
import type { EngineOptions, ImageOptions, TextOptions } from "../engine/protocol.ts";
import type { Weights } from "../quantize/requantizer.ts";
import type { Pool } from "../upstream/pool.ts";
import { upstreamConnections, upstreamModel } from "./upstreams.ts";
import { pulledVoice, voiceOf } from "./voices.ts";

/** Context of a load. */
interface LoadContext {
  readonly signal: AbortSignal;
  readonly relays: ModelRelays;
}

/** Finds what a text model needs, and gives its engine options. Config has checked that the chat template's file exists. */
async function textEngine(
  model: ModelSettings,
  weights: Weights,
  options: ModelOptions,
  { signal, relays }: LoadContext,
): Promise<TextOptions> {
  const template = templateFile(model, options.settings);
  const modelPath = await weightsFile(model, weights, options, { signal, onProgress: () => {} });
  return textOptions(withCompanions(model, options.settings), options, {
    modelPath,
    adapterPath: await staticAdapter(model, modelPath, options),
    chatTemplate: template === undefined ? undefined : templateText(template),
    templateName: template === undefined ? undefined : basename(template),
    rpcEndpoints: await relays.endpoints(),
    backends: () => installedBackends(options.cacheDir),
  });
}

/** Throws ServiceError(template_failed) for a file without a template. */
function templateText(path: string): string {
  const text = readFileSync(path, "utf8");
  if (text.trim() !== "") return text;
  const message = `the chat template's file ${basename(path)} is empty; write a template into it, or leave out --chat-template`;
  throw new ServiceError("template_failed", message);
}

async function imageEngine(
  model: ModelSettings,
  options: ModelOptions,
  signal: AbortSignal,
): Promise<ImageOptions> {
  const isWhole = model.format.diffusion_model === undefined;
  const file = isWhole ? await modelFile(model, options, { signal }) : undefined;
  return imageOptions(model, options, file, () => installedBackends(options.cacheDir));
}

async function engineOptions(
  model: ModelSettings,
  weights: Weights,
  options: ModelOptions,
  context: LoadContext,
  shape: NonNullable<ModelParts["shape"]>,
): Promise<EngineOptions> {
  switch (kindOf(model)) {
    case "image":
      return imageEngine(model, options, context.signal);
    case "speech":
      return speechOptions(voiceOf(model, options.cacheDir), options);
    case "text":
      return withKnownFiles(shape(await textEngine(model, weights, options, context)));
  }
}

/** Reads the headers of a model's files before the estimates of its memory do, which cannot wait. */
async function withKnownFiles(engine: TextOptions): Promise<TextOptions> {
  const { modelPath, speculative } = engine;
  const draft = speculative?.type === "mtp" ? speculative.mtpModel : undefined;
  await knowHeaders([modelPath, draft].flatMap((path) => (path === undefined ? [] : partPaths(path))));
  return engine;
}

/** Configured weights of an entry. */
export function ownWeights({ quantization }: ModelSettings): Weights {
  const { isq, imatrix, calibration_file: calibration } = quantization;
  return {
    ...defined({ type: isq, importance: imatrix, calibration }),
  };
}

/** Optional collaborators of the models. */
export interface ModelParts {
  /** Adapters in the engines of a model, by its id. */
  readonly resident?: ReadonlyMap<string, ResidentAdapters>;
  /** Current weights of a model, if they can change. */
  readonly weightsOf?: (model: ModelSettings) => Weights;
  /** Makes what takes a model's numbers. */
  readonly newMeter?: (() => EngineMeter) | undefined;
  /** Changes the engine options of text models, for measurements. May throw the reason not to start an engine. */
  readonly shape?: (configured: TextOptions) => TextOptions;
  /** What people have chosen in the web interface; absent: nothing can be chosen. */
  readonly choices?: ModelChoices;
  /** Told of the pool of each upstream model. */
  readonly onPool?: (pool: Pool) => void;
}

/** The configured models and, where none of them speaks, the built-in voice; none of them loaded yet. */
export function createModels(options: ModelOptions, parts: ModelParts = {}): Models {
  const { settings, log } = options;
  const places = new Places({
    ...defined({ max: settings.server.max_loaded_models }),
    capacity: deviceCapacity(settings.server.models_memory_mb, () => models.hosts()),
  });
  const room: Room = { places, cards: () => cardsOf(models.hosts()) };
  const upstreams = { connections: upstreamConnections(), models: () => models };
  const configured = settings.models.map((model): ServedModel => {
    if (model.kind !== "upstream")
      return { ...ownModel(model, room, options, parts), ...defined({ isStandIn: options.isToyUnasked }) };
    const pool = upstreamModel(model, options, upstreams);
    parts.onPool?.(pool.pool);
    const presets = modelPreset(model, options);
    return {
      id: modelName(model),
      kind: kindOf(model),
      presets,
      mediaLimits: { ...mediaLimitsOf(model), keepsSounds: true },
      model: pool,
    };
  });
  const serve = (entry: ModelSettings): ServedModel => ownModel(entry, room, options, parts);
  const sources = [
    pulledModels(options, serve),
    folderModels(options, parts.choices, serve),
    pulledVoice(options, serve),
  ];
  const refresh = (served: Models): void => sources.forEach((bring) => bring?.(served));
  const models = new Models([...configured, ...builtinVoice(configured, options, parts)], {
    defaultId: settings.default_model_id,
    seed: settings.global.seed,
    places,
    refresh,
    log,
  });
  return models;
}

/** A model that an engine of this machine runs. */
function ownModel(model: ModelSettings, room: Room, options: ModelOptions, parts: ModelParts): ServedModel {
  const id = modelName(model);
  const { weightsOf = ownWeights, shape = (configured) => configured, choices } = parts;
  const relays = newRelays(model);
  const loadedWith = () => withLoad(model, options.settings, choices?.loadOf(model) ?? {});
  const prepare = (signal: AbortSignal): Promise<EngineOptions> => {
    const { entry, settings } = loadedWith();
    return engineOptions(entry, weightsOf(model), { ...options, settings }, { signal, relays }, shape);
  };
  const repo = isAbsolute(model.model_id) ? undefined : parseHubId(model.model_id)?.repo;
  const life = lifeOf(model);
  const running = managed(id, { prepare, ...room, lossOf: () => relays.loss(), ...life }, options, parts);
  const loadedPath = (): string | undefined =>
    running.info?.kind === "text" ? running.info.modelPath : undefined;
  return {
    id,
    kind: kindOf(model),
    ...defined({ root: repo }),
    ...(kindOf(model) === "text" ? { file: rememberedFacts(loadedWith, options.cacheDir, loadedPath) } : {}),
    ...(kindOf(model) === "text" && choices !== undefined
      ? { load: loadControl(model, options, { choices, cards: room.cards }) }
      : {}),
    presets: modelPreset(model, options),
    mediaLimits: mediaLimitsOf(model),
    model: running,
  };
}

/** What an entry says about its model's life. */
function lifeOf({ pin, keep_alive: keepAlive, device }: ModelSettings): Life {
  const idleMs = keepAlive === undefined ? undefined : durationMs(keepAlive);
  return { isPinned: pin, workers: device.cpu ? [] : (device.rpc ?? []), ...defined({ idleMs }) };
}

const BUILTIN_VOICE = { model_id: BUILTIN_VOICES[0], format: {}, speech: {} } as const;

/** Too small to count against max_loaded_models; loaded at its first request. */
function builtinVoice(
  configured: readonly ServedModel[],
  options: ModelOptions,
  parts: ModelParts,
): readonly ServedModel[] {
  const id = BUILTIN_VOICE_NAME;
  if (configured.some((model) => model.kind === "speech" || model.id === id)) return [];
  const prepare = async (): Promise<EngineOptions> =>
    speechOptions(voiceOf(BUILTIN_VOICE, options.cacheDir), options);
  const model = managed(
    id,
    { prepare, places: new Places(), cards: () => undefined, workers: [] },
    options,
    parts,
  );
  return [{ id, kind: "speech", isLazy: true, isStandIn: true, model }];
}

function managed(
  name: string,
  {
    lossOf,
    workers,
    cards,
    ...own
  }: Pick<ManagedModelDeps, "prepare"> & Room & Pick<EngineClientDeps, "lossOf"> & Life,
  options: ModelOptions,
  { resident, newMeter }: ModelParts,
): ManagedModel {
  const { queue_max: queueMax, idle_timeout: idleSecs } = options.settings.server;
  const { hang_timeout: timeoutSecs } = options.settings.runtime;
  const log = (line: string): void => options.log(`${name}: ${line}`);
  const adapters = resident?.get(name);
  const show = options.loading?.(name);
  const meter = newMeter?.(); // one for all the engines that the model will have
  return new ManagedModel({
    ...(idleSecs === undefined ? {} : { idleMs: idleSecs * 1000 }),
    ...own,
    claimsOf: (engine) => {
      const claim = claimsOf(engine, freeMemory());
      return (info) => new Map([...claim(cards(), info), ...workers.map(workerClaim)]);
    },
    checkMemory: (engine, freeBytes = freeMemory()) => checkMemory(engine, freeBytes),
    startEngine: (engine, onLoading) =>
      new EngineClient({
        name,
        options: engine,
        openLink: (handlers) =>
          spawnEngine(handlers, engineEnvironment(engine, processEnvironment(), freeMemory())),
        queueMax,
        log,
        ...defined({ lossOf }),
        ...(timeoutSecs === 0 ? {} : { timeoutMs: timeoutSecs * 1000 }),
        ...defined({ adapters, meter }),
        onLoading: (permille) => {
          show?.(permille);
          onLoading(permille);
        },
      }),
    queueMax: options.settings.runtime.max_seqs + queueMax, // places once it is loaded
    onEvicted: (reason, bytes) => meter?.evicted(reason, bytes),
    log,
  });
}

/** Memory that the models share. */
interface Room extends Pick<ManagedModelDeps, "places"> {
  /** The accelerators; undefined until an engine has looked for them. */
  readonly cards: () => readonly Card[] | undefined;
}

interface Life extends Pick<ManagedModelDeps, "isPinned" | "idleMs"> {
  /** host:port of the RPC workers whose devices it takes. */
  readonly workers: readonly string[];
}
