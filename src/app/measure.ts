// Engines for a bench or a tuning, separate from those that serve.

import { availableParallelism } from "node:os";
import { reasonOf } from "../core/reason.ts";
import type { ModelOptions } from "./model-files.ts";
import { ownWeights, textEngine } from "./models.ts";
import { newRelays } from "./rpc.ts";
import { modelName } from "../config/model-name.ts";
import type { ModelSettings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { freeMemory } from "../core/free-memory.ts";
import type { BenchRow, TuneProfile, TuneReport } from "../core/measure.ts";
import type { TuneModel } from "../core/model-info.ts";
import { textInfo } from "../engine/abilities.ts";
import { EngineClient } from "../engine/client.ts";
import { spawnEngine } from "../engine/host.ts";
import { checkMemory } from "../engine/memory-fit.ts";
import type { Models } from "../engine/models.ts";
import type { TextInfo, TextOptions } from "../engine/protocol.ts";
import { bench, benchNeed, type BenchPlan } from "../measure/bench.ts";
import { cellsFor, type EngineNeed, type MeasuredEngine, refuseTooLong } from "../measure/engine.ts";
import { tune } from "../measure/tune.ts";
import { Tuning } from "../measure/tuning.ts";

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

/** Measures one model by a plan. Throws the reason of a failure. */
export async function benchModel(
  model: ModelSettings,
  options: ModelOptions,
  { repetitions, ...plan }: BenchPlan & { readonly repetitions: number },
  { signal, onStep }: MeasureOptions,
): Promise<BenchedModel> {
  const need = benchNeed(plan);
  if (model.kind === "image") throw new Error("an image model generates no tokens; name a text model");
  const configured = await configuredEngine(model, options, signal);
  const { engine, info } = await openEngine(fitted(configured, need), options, modelName(model), signal);
  try {
    refuseTooLong(info, need);
    const rows: BenchRow[] = [];
    const way = { repetitions, random: Math.random, signal };
    for await (const row of bench(engine, plan, way, onStep)) rows.push(row);
    return { model: modelName(model), info, rows };
  } finally {
    await engine.stop();
  }
}

/** Tries settings with a model and recommends the best. Throws ServiceError, or the reason of a failed measurement. */
export async function tuneModel(
  model: ModelSettings,
  options: ModelOptions,
  profile: TuneProfile,
  { signal, onStep, isBusy }: MeasureOptions & { readonly isBusy: () => boolean },
): Promise<TuneReport> {
  const configured = await configuredEngine(model, options, signal);
  return tune(modelName(model), profile, {
    open: async ({ sequenceTokens, ...settings }) => {
      const need = { sequences: settings.maxSeqs, tokens: sequenceTokens };
      const wanted = fitted({ ...configured, ...settings }, need);
      return (await openEngine(wanted, options, modelName(model), signal)).engine;
    },
    cpus: availableParallelism(),
    batch: configured.batch,
    maxSeqs: configured.maxSeqs,
    random: Math.random,
    now: () => performance.now(),
    onStep,
    isBusy,
    signal,
  });
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

function configuredEngine(
  model: ModelSettings,
  options: ModelOptions,
  signal: AbortSignal,
): Promise<TextOptions> {
  return textEngine(model, ownWeights(model), options, { signal, relays: newRelays(model) });
}

/** Options of an engine for a measurement, with a cache of its size unless the settings choose one. */
function fitted(configured: TextOptions, need: EngineNeed): TextOptions {
  const { contextLen, memoryBytes, memoryFraction } = configured;
  const isChosen = contextLen !== undefined || memoryBytes !== undefined || memoryFraction !== undefined;
  const slots = { maxSeqs: need.sequences, prefixCacheN: need.sequences };
  const { tiers: _, ...untiered } = configured; // prompts are new each time
  return { ...untiered, ...slots, ...(isChosen ? {} : { contextLen: cellsFor(need) }) };
}

/** Starts an engine and waits for it. Throws ServiceError(model_unavailable) when there is no memory for it. */
async function openEngine(
  engine: TextOptions,
  { log, loading }: ModelOptions,
  name: string,
  signal: AbortSignal,
): Promise<{ readonly engine: MeasuredEngine; readonly info: TextInfo }> {
  signal.throwIfAborted();
  checkMemory(engine, freeMemory());
  const client = new EngineClient({
    name,
    options: engine,
    openLink: (handlers) => spawnEngine(handlers, processEnvironment()),
    queueMax: engine.maxSeqs,
    log: (line) => log(`${name}: ${line}`),
    ...(loading === undefined ? {} : { onLoading: loading(name) }),
  });
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const info = textInfo(await Promise.race([client.ready(), aborted.promise]));
    return { engine: measured(client, info), info };
  } catch (error) {
    await client.stop();
    throw new Error(reasonOf(error), { cause: error }); // a reason that may name files, so no answer to a client
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function measured(client: EngineClient, info: TextInfo): MeasuredEngine {
  return {
    vocabulary: info.vocabulary,
    contextTokens: info.contextTokens,
    cells: info.cells,
    generate: (request, signal) => client.generate(request, signal),
    setThreads: (threads, threadsBatch) => client.setThreads(threads, threadsBatch),
    stop: () => client.stop(),
  };
}
