// Engines for a bench or a tuning, separate from those that serve. They run on the shared core, so they load as when serving.

import { defaultThreads } from "../../ffi/linux/usable-cores.ts";
import { modelName } from "../config/model-name.ts";
import type { ModelSettings } from "../config/settings.ts";
import { assert } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import { freeMemory } from "../core/free-memory.ts";
import { SLOTS_MAX } from "../core/limits.ts";
import type { BenchRow, MachineSpeed, TuneProfile, TuneReport } from "../core/measure.ts";
import type { TuneModel } from "../core/model-info.ts";
import type { ModelWork } from "../core/model-work.ts";
import { reasonOf } from "../core/reason.ts";
import { textInfo } from "../engine/abilities.ts";
import type { EngineClient } from "../engine/client.ts";
import { ManagedModel } from "../engine/managed-model.ts";
import { checkMemory } from "../engine/memory-fit.ts";
import type { Models } from "../engine/models.ts";
import type { TextInfo, TextOptions } from "../engine/protocol.ts";
import { bench, benchNeed, type BenchPlan } from "../measure/bench.ts";
import { cellsFor, type EngineNeed, type MeasuredEngine, refuseTooLong } from "../measure/engine.ts";
import { measureMachine } from "../measure/machine.ts";
import { limitOf } from "../measure/roofline.ts";
import { tune } from "../measure/tune.ts";
import { Tuning } from "../measure/tuning.ts";
import { type Core, openCore } from "./core.ts";
import { kindOf, type ModelOptions } from "../models/model-files.ts";

/** Cancellation and progress of a measurement. */
export interface MeasureOptions {
  readonly signal: AbortSignal;
  readonly onStep: (words: string) => void;
}

/** A model as it was measured. */
export interface BenchedModel {
  readonly model: string;
  readonly info: TextInfo;
  readonly rows: readonly BenchRow[];
}

/** What a bench measures. */
export interface BenchTask extends BenchPlan {
  readonly repetitions: number;
  readonly roofline: boolean;
}

/** Measures one model by a plan. Throws the reason of a failure. */
export async function benchModel(
  model: ModelSettings,
  options: ModelOptions,
  { repetitions, roofline, ...plan }: BenchTask,
  { signal, onStep }: MeasureOptions,
): Promise<BenchedModel> {
  const need = benchNeed(plan);
  const engines = new MeasuredModel(model, options, signal);
  try {
    const { engine, info, used } = await engines.start((configured) => fitted(configured, need));
    refuseTooLong(info, need);
    if (roofline && (info.placement?.device_layers ?? 0) > 0)
      throw new Error("a roofline is measured of models that are on the CPU as a whole (--device-layers 0)");
    const rows: BenchRow[] = [];
    const { threads } = info;
    const request = { ...defined({ modelPath: used.modelPath }), threads, cacheDir: options.cacheDir };
    let work: ModelWork | undefined;
    const look = async (): Promise<MachineSpeed> => {
      const report = await measureMachine(request, signal);
      ({ work } = report);
      return report.machine;
    };
    const way = { repetitions, random: Math.random, signal, ...(roofline ? { machine: look } : {}) };
    for await (const row of bench(engine, plan, way, onStep)) {
      const { machine } = row;
      if (work === undefined || machine === undefined) rows.push(row);
      else rows.push({ ...row, roofline: limitOf(row, work, used.ubatch, machine) });
    }
    return { model: modelName(model), info, rows };
  } finally {
    await engines.close();
  }
}

/** Tries settings with a model and recommends the best. Throws ServiceError, or the reason of a failed measurement. */
export async function tuneModel(
  model: ModelSettings,
  options: ModelOptions,
  profile: TuneProfile,
  { signal, onStep, isBusy }: MeasureOptions & { readonly isBusy: () => boolean },
): Promise<TuneReport> {
  const { runtime } = options.settings;
  const { batch, max_seqs: maxSeqs } = runtime;
  const engines = new MeasuredModel(model, options, signal);
  try {
    return await tune(modelName(model), profile, {
      open: async ({ sequenceTokens, draftTokens, ...settings }) => {
        const need = { sequences: settings.maxSeqs, tokens: sequenceTokens };
        const { engine } = await engines.start((configured) =>
          fitted(
            {
              ...withDrafts(configured, draftTokens),
              ...settings,
              deviceUbatch: settings.ubatch,
              mixtureUbatch: settings.ubatch,
            },
            need,
          ),
        );
        return engine;
      },
      threadsMax: defaultThreads(),
      batch,
      maxSeqs,
      mayDraft: mayDraft(model, options.settings),
      random: Math.random,
      now: () => performance.now(),
      onStep,
      isBusy,
      signal,
    });
  } finally {
    await engines.close();
  }
}

/** Whether the head in the model's own file may be the source of draft tokens. */
function mayDraft(model: ModelSettings, { runtime }: ModelOptions["settings"]): boolean {
  const { speculative, mtp_model: other, determinism } = runtime;
  if (model.kind === "upstream" || other !== undefined || model.format.draft !== undefined) return false;
  return (speculative === "auto" || speculative === "mtp") && determinism === "off";
}

function withDrafts(configured: TextOptions, draftTokens: number | undefined): TextOptions {
  if (draftTokens === undefined) return configured;
  const { speculative, ...plain } = configured;
  if (draftTokens === 0) return plain;
  const mtpDraftSampling = speculative?.type === "mtp" ? speculative.mtpDraftSampling : "probabilistic";
  return { ...plain, speculative: { type: "mtp", mtpNPredict: draftTokens, mtpDraftSampling } };
}

/** Tuning of served models on request of a client. `stopping` ends it. */
export function newTuning(options: ModelOptions, models: Models, stopping: AbortSignal): TuneModel {
  const { settings, log } = options;
  const isBusy = (): boolean => models.activeRuns() > 0;
  const tuning = new Tuning({
    tune: (id, profile, signal) => {
      const model = settings.models.find((candidate) => modelName(candidate) === id);
      if (model === undefined) throw new Error("a served model is not configured");
      return tuneModel(model, options, profile, { signal, onStep: () => {}, isBusy });
    },
    isBusy,
    stopping,
    log,
  });
  return async (name, profile, client) =>
    tuning.run(models.able("generates", name, "model_id").id, profile, client);
}

/** Engines of one model, one at a time, each with the options that its measurement needs. */
class MeasuredModel {
  private readonly core: Core;
  private readonly model: ManagedModel;
  private readonly signal: AbortSignal;
  private shape: (configured: TextOptions) => TextOptions = (configured) => configured;

  constructor(entry: ModelSettings, options: ModelOptions, signal: AbortSignal) {
    const id = modelName(entry);
    if (entry.kind === "upstream" || kindOf(entry) !== "text")
      throw new Error(`${id} cannot be measured. Name a text model that runs on this machine`);
    this.core = openCore(measuring(entry, options), { shape: (configured) => this.shape(configured) });
    const { model } = this.core.models.resolve(id);
    assert(model instanceof ManagedModel, "a text model of this machine has engines");
    this.model = model;
    this.signal = signal;
  }

  /** Starts an engine. Throws ServiceError(model_unavailable) when there is no memory for it. */
  async start(
    shape: (configured: TextOptions) => TextOptions,
  ): Promise<{ readonly engine: MeasuredEngine; readonly info: TextInfo; readonly used: TextOptions }> {
    const { model, signal } = this;
    signal.throwIfAborted();
    let used: TextOptions | undefined;
    this.shape = (configured) => {
      const wanted = shape(configured);
      checkMemory(wanted, freeMemory());
      used = wanted;
      return wanted;
    };
    const stop = (): void => void this.close();
    signal.addEventListener("abort", stop, { once: true });
    try {
      const info = textInfo(await model.load());
      const engine = model.loadedEngine;
      assert(engine !== undefined && used !== undefined, "nothing else unloads a measured model");
      return { engine: measured(engine, info, () => model.unload()), info, used };
    } catch (error) {
      signal.throwIfAborted();
      if (used === undefined) throw error;
      throw new Error(reasonOf(error), { cause: error }); // a reason that may name files, so no answer to a client
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Ends the engine. */
  close(): Promise<void> {
    return this.core.stop();
  }
}

/** Settings of a measurement: one model, which waits for no other and stays loaded. */
function measuring(model: ModelSettings, options: ModelOptions): ModelOptions {
  const { settings } = options;
  const { idle_timeout: _, max_loaded_models: __, ...server } = settings.server;
  return {
    ...options,
    settings: {
      ...settings,
      models: [model],
      server: { ...server, queue_max: SLOTS_MAX, models_mutable: false },
    },
  };
}

/** Options of an engine for a measurement, with a cache of its size unless the settings choose one. */
function fitted(configured: TextOptions, need: EngineNeed): TextOptions {
  const { contextLen, memoryBytes, memoryFraction } = configured;
  const isChosen = contextLen !== undefined || memoryBytes !== undefined || memoryFraction !== undefined;
  const slots = { maxSeqs: need.sequences, prefixCacheN: need.sequences };
  const { tiers: _, ...untiered } = configured; // prompts are new each time
  return { ...untiered, ...slots, ...(isChosen ? {} : { contextLen: cellsFor(need) }) };
}

function measured(engine: EngineClient, info: TextInfo, stop: () => Promise<void>): MeasuredEngine {
  return {
    vocabulary: info.vocabulary,
    contextTokens: info.contextTokens,
    cells: info.cells,
    hasHead: info.hasHead,
    generate: (request, signal, caller) => engine.generate(request, signal, caller),
    setThreads: (threads, threadsBatch) => engine.setThreads(threads, threadsBatch),
    stop,
  };
}
