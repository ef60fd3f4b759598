// Engines for a bench or a tuning, separate from those that serve.

import { availableParallelism } from "node:os";
import { reasonOf } from "../core/reason.ts";
import type { ModelOptions } from "./model-files.ts";
import { ownWeights, textOptions } from "./models.ts";
import { newRelays } from "./rpc.ts";
import { modelName } from "../config/model-name.ts";
import type { ModelSettings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { ServiceError } from "../core/error.ts";
import { freeMemory } from "../core/free-memory.ts";
import { SLOTS_MAX } from "../core/limits.ts";
import type { BenchRow, TuneProfile, TuneReport } from "../core/measure.ts";
import type { TuneModel } from "../core/model-info.ts";
import { textInfo } from "../engine/abilities.ts";
import { EngineClient } from "../engine/client.ts";
import { spawnEngine } from "../engine/host.ts";
import { checkMemory } from "../engine/memory-fit.ts";
import type { Models } from "../engine/models.ts";
import type { TextInfo, TextOptions } from "../engine/protocol.ts";
import { bench, benchNeed, type BenchPlan } from "../measure/bench.ts";
import type { MeasuredEngine } from "../measure/engine.ts";
import { tune } from "../measure/tune.ts";

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
  const { sequences, tokens } = benchNeed(plan);
  if (model.kind === "image") throw new Error("an image model generates no tokens; name a text model");
  if (2 * sequences > SLOTS_MAX)
    throw new Error(`at most ${SLOTS_MAX / 2} sequences can be measured at once`);
  const configured = await textOptions(model, ownWeights(model), options, {
    signal,
    relays: newRelays(model),
  });
  const room = { maxSeqs: sequences, prefixCacheN: sequences, ...cellsFor(configured, sequences * tokens) };
  const { engine, info } = await openEngine({ ...configured, ...room }, options, modelName(model), signal);
  try {
    refuseTooLong(info, sequences, tokens);
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
  const configured = await textOptions(model, ownWeights(model), options, {
    signal,
    relays: newRelays(model),
  });
  return tune(modelName(model), profile, {
    open: async ({ sequenceTokens, ...settings }) => {
      const prefixCacheN = settings.maxSeqs;
      const room = cellsFor(configured, settings.maxSeqs * sequenceTokens);
      const wanted = { ...configured, ...settings, prefixCacheN, ...room };
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

/** Tuning on request of a client: one at a time, and none while requests run. `stopping` ends it. */
export function newTuning(options: ModelOptions, models: Models, stopping: AbortSignal): TuneModel {
  let running = false;
  const { settings, log } = options;
  return async (name, profile, client) => {
    const { id } = models.able("generates", name, "model_id");
    const model = settings.models.find((candidate) => modelName(candidate) === id);
    if (model === undefined) throw new Error("a served model is not configured");
    const isBusy = (): boolean => models.activeRuns() > 0;
    if (running) throw conflict("another tuning is running");
    if (isBusy()) throw conflict("requests are running, and would be measured too");
    running = true;
    try {
      const signal = AbortSignal.any([client, stopping]);
      return await tuneModel(model, options, profile, { signal, onStep: () => {}, isBusy });
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      if (client.aborted)
        throw new ServiceError("model_unavailable", "the request was cancelled", { cause: error });
      if (stopping.aborted)
        throw new ServiceError("shutting_down", "The server is being stopped.", { cause: error });
      // Why it fails concerns the operator; it may name files of the server.
      log(`${id}: it could not be tuned: ${reasonOf(error)}`);
      throw new ServiceError(
        "model_unavailable",
        "The model could not be measured. The server's log says why.",
        {
          retryAfterSecs: 5,
          cause: error,
        },
      );
    } finally {
      running = false;
    }
  };
}

function conflict(why: string): ServiceError {
  return new ServiceError("tuning_conflict", `The model cannot be tuned now: ${why}. Try again later.`, {
    retryAfterSecs: 5,
  });
}

/** A cache of the measured size, unless the settings choose one. */
function cellsFor(configured: TextOptions, tokens: number): { readonly contextLen?: number } {
  const { contextLen, memoryBytes, memoryFraction } = configured;
  const isChosen = contextLen !== undefined || memoryBytes !== undefined || memoryFraction !== undefined;
  const step = 256;
  return isChosen ? {} : { contextLen: (Math.ceil(tokens / step) + 1) * step };
}

function refuseTooLong(info: TextInfo, sequences: number, tokens: number): void {
  if (tokens > info.contextTokens)
    throw new Error(
      `the model's context holds ${info.contextTokens} tokens; prompt, answer and depth would take ${tokens}`,
    );
  if (tokens * sequences > info.cells)
    throw new Error(
      `the cache holds ${info.cells} tokens; ${sequences} sequences of ${tokens} do not fit. Make it larger, or measure less`,
    );
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
