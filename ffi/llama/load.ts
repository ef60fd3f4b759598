// Opens a model for an engine: decides where its layers go, loads it and its draft model, creates its context.

import { isCacheChosen } from "../../src/core/cache-size.ts";
import { DEVICE_PROFILES, mixtureTokens, profileOf } from "../../src/core/device-profile.ts";
import { ServiceError } from "../../src/core/error.ts";
import { freeMemory } from "../../src/core/free-memory.ts";
import { sizeText } from "../../src/core/size-text.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import type { Native } from "../library.ts";
import {
  type ContextPlan,
  type ContextThreads,
  contextColumns,
  openContext,
  planContext,
} from "./context.ts";
import {
  type CacheMemory,
  cellsBytes,
  type GraphLimits,
  graphLimits,
  isSmall,
  type LoadHooks,
  loadModel,
  type ModelFile,
  type ModelInfo,
} from "./model.ts";
import {
  cacheMemory,
  deviceNames,
  freePlan,
  type LayerPlan,
  mayUseDevices,
  type PlanInput,
  placementText,
  planCpuBytes,
  planModel,
} from "./placement.ts";
import { planProjector, type ProjectorPlan } from "./projector.ts";
import { fewerCells, refuseShortage, shortageText } from "./shortage.ts";
import { interleaveMemory } from "../linux/interleaving.ts";
import { defaultThreads } from "../linux/usable-cores.ts";
import { type Handle, takeText } from "../text.ts";

/** A loaded model with its context. The caller frees the handles. */
export interface OpenedModel {
  readonly path: string;
  readonly model: Handle;
  /** The draft model, where it is a separate file. */
  readonly draft: Handle | undefined;
  readonly context: Handle;
  readonly meta: ModelInfo;
  readonly limits: GraphLimits;
  /** As requested, with the sequences that the architecture can run. */
  readonly options: TextOptions;
  readonly plan: ContextPlan;
  readonly threads: ContextThreads;
  /** Where the layers are; absent: on the CPU, without a device to choose. */
  readonly layers: LayerPlan | undefined;
}

/** Throws ServiceError(model_unavailable) with the reason. */
export async function openModel(
  native: Native,
  path: string,
  asked: TextOptions,
  { onProgress, onPlaced, freeBytes = freeMemory }: LoadHooks,
): Promise<OpenedModel> {
  interleaveMemory();
  const { speculative } = asked;
  const draftPath = speculative?.type === "mtp" ? speculative.mtpModel : undefined;
  const file = { path, withHead: speculative?.type === "mtp" && draftPath === undefined, name: "the model" };
  const draftFile =
    draftPath === undefined ? undefined : { path: draftPath, withHead: true, name: "mtp_model" };
  const planned = mayUseDevices(native, asked)
    ? await planDevices(native, asked, { file, draftFile, freeBytes })
    : undefined;
  if (planned !== undefined) onPlaced?.(planned.summary, deviceNames(native, planned.layers));
  const layers = planned?.layers;
  const model = await loadModel(native, { ...file, place: placeOf(layers) }, onProgress);
  const draft =
    draftFile === undefined
      ? undefined
      : await loadModel(native, { ...draftFile, place: placeOf(layers?.draft) });
  const meta = infoOf(native, model);
  const limits = graphLimits(meta);
  const options = planned?.options ?? lowered(asked, limits);
  const draftMeta = draft === undefined ? undefined : infoOf(native, draft);
  const plan = planned?.plan ?? planContext(meta, limits, options, machineMemory(), draftMeta);
  const threads = threadsFor(meta, options, layers);
  const context = openContext(native, model, contextColumns(options, plan, threads), options);
  return { path, model, draft, context, meta, limits, options, plan, threads, layers };
}

function placeOf(plan: LayerPlan | undefined): ModelFile["place"] {
  return plan === undefined ? { type: "cpu" } : { type: "plan", handle: plan.handle };
}

type NamedFile = Omit<ModelFile, "place">;

interface DeviceLoad {
  readonly file: NamedFile;
  readonly draftFile: NamedFile | undefined;
  readonly freeBytes: () => number;
}

interface DevicePlan extends Planned {
  /** Where the layers go, for the operator. */
  readonly summary: string;
}

interface Planned {
  /** As requested, with the sequences and micro-batches that are planned. */
  readonly options: TextOptions;
  readonly plan: ContextPlan;
  readonly layers: LayerPlan;
}

/** Cells below which layers on devices are not worth a smaller cache, and trials of smaller ones. */
const USUAL_CELLS = 4096;
const CACHE_ATTEMPTS = 3;

/** Plans context and layers from the headers of the files. */
async function planDevices(native: Native, asked: TextOptions, load: DeviceLoad): Promise<DevicePlan> {
  const meta = await headerOf(native, load.file);
  const draft = load.draftFile === undefined ? undefined : await headerOf(native, load.draftFile);
  const options = lowered(asked, graphLimits(meta));
  const files = { ...load, meta, draft, projector: planProjector(native, options) };
  const planned = await planBatches(native, options, files);
  const { report } = planned.layers;
  const { cells } = planned.plan;
  const summary = placementText(planned.layers) + shortageText(report, cells, planned.options);
  const [needed, free] = [planCpuBytes(planned.layers), load.freeBytes()];
  try {
    refuseShortage(report, cells, planned.options);
    if (needed <= free) return { ...planned, summary };
  } catch (error) {
    freePlan(native, planned.layers);
    throw error;
  }
  freePlan(native, planned.layers);
  throw new ServiceError(
    "model_unavailable",
    `${summary}; the part on the CPU needs about ${sizeText(needed)} of memory, but only ${sizeText(free)} are free; use a smaller quantization of the model (quant), or a smaller cache (context_len, memory_mb or memory_fraction), or more device_layers`,
  );
}

interface Headers extends DeviceLoad {
  readonly meta: ModelInfo;
  readonly draft: ModelInfo | undefined;
  readonly projector: ProjectorPlan | undefined;
}

/** Micro-batches and draft tokens for devices where the whole model is there with their buffers. */
async function planBatches(native: Native, options: TextOptions, files: Headers): Promise<Planned> {
  for (const wanted of onDevices(options, files.meta)) {
    const planned = await planCells(native, wanted, files);
    if (isWhole(planned)) return planned;
    freePlan(native, planned.layers);
  }
  return planCells(native, options, files);
}

function isWhole({ layers: { report } }: Planned): boolean {
  return report.device_layers === report.layers;
}

/** A cache of default size rather shrinks, to that of a usual context, than push layers to the CPU. */
async function planCells(native: Native, options: TextOptions, files: Headers): Promise<Planned> {
  const first = await planWith(native, options, files);
  const least = Math.min(USUAL_CELLS, files.meta.n_ctx_train);
  let planned = first;
  for (let attempt = 0; attempt < CACHE_ATTEMPTS && !isCacheChosen(options); attempt++) {
    const cells = fewerCells(planned.layers.report, planned.plan.cells) ?? 0;
    if (cells < least) break;
    if (planned !== first) freePlan(native, planned.layers);
    planned = await planWith(native, options, files, cells);
    if (!planned.layers.report.fits || (options.deviceLayers < 0 && !isWhole(planned))) continue;
    freePlan(native, first.layers);
    return planned;
  }
  if (planned !== first) freePlan(native, planned.layers);
  return first;
}

/** Options with the choices for a model that is on devices as a whole, the best first; none where nothing differs. */
function onDevices(options: TextOptions, { n_expert: count, n_expert_used: used }: ModelInfo): TextOptions[] {
  const { deviceUbatch, mixtureUbatch = 0, speculative } = options;
  const drafts = speculative?.type === "mtp" ? speculative.deviceNPredict : undefined;
  if (deviceUbatch === undefined && drafts === undefined) return [];
  const usual = deviceUbatch ?? options.ubatch;
  const sizes = new Set([mixtureTokens(usual, mixtureUbatch, { count, used }), usual]);
  return Array.from(sizes, (ubatch) => ({
    ...options,
    ubatch,
    ...(speculative?.type === "mtp" && {
      speculative: { ...speculative, mtpNPredict: drafts ?? speculative.mtpNPredict },
    }),
  }));
}

async function planWith(
  native: Native,
  options: TextOptions,
  { file, draftFile, meta, draft, projector }: Headers,
  cells?: number,
): Promise<Planned> {
  const weights = meta.size_bytes + (draft?.size_bytes ?? 0);
  const memory =
    cells === undefined
      ? deviceMemory(native, options, weights, projector)
      : { freeBytes: cellsBytes(cells, options, meta, draft), share: 1 };
  const plan = planContext(meta, graphLimits(meta), options, memory, draft);
  const context = contextColumns(options, plan, threadsFor(meta, options, undefined));
  const layers = await planModel(
    native,
    { ...sizesOf(file.path, meta), options, context, withHead: file.withHead },
    draft === undefined || draftFile === undefined ? undefined : sizesOf(draftFile.path, draft),
    projector,
  );
  return { options, plan, layers };
}

function sizesOf(
  path: string,
  { size_bytes: weights, n_layer_nextn: headLayers }: ModelInfo,
): Pick<PlanInput, "path" | "weights" | "headLayers"> {
  return { path, weights, headLayers };
}

async function headerOf(native: Native, file: NamedFile): Promise<ModelInfo> {
  const model = await loadModel(native, { ...file, place: { type: "header" } });
  const info = infoOf(native, model);
  native.svc_model_free(model);
  return info;
}

function infoOf(native: Native, model: Handle): ModelInfo {
  return JSON.parse(takeText(native, native.svc_model_info(model)));
}

function machineMemory(): CacheMemory {
  return { freeBytes: freeMemory(), share: DEVICE_PROFILES.cpu.cacheShare };
}

/** That of the devices beside the weights; that of the machine where they cannot hold them. */
function deviceMemory(
  native: Native,
  options: TextOptions,
  weights: number,
  projector: ProjectorPlan | undefined,
): CacheMemory {
  const freeBytes = cacheMemory(native, options, weights, projector);
  return freeBytes > 0 ? { freeBytes, share: DEVICE_PROFILES.device.cacheShare } : machineMemory();
}

function lowered(asked: TextOptions, { sequences = asked.maxSeqs }: GraphLimits): TextOptions {
  return { ...asked, maxSeqs: Math.min(asked.maxSeqs, sequences) };
}

function threadsFor(meta: ModelInfo, options: TextOptions, layers: LayerPlan | undefined): ContextThreads {
  const most = Math.min(defaultThreads(), profileOf(layers?.report).threadsMax);
  return {
    threads: options.threads ?? (isSmall(meta) ? 1 : most),
    threadsBatch: options.threadsBatch ?? options.threads ?? most,
  };
}
