// Plans a model for devices by the headers of its files: the size of its cache, its micro-batches, which layers go where.
// The best first, until one fits: all of it on devices; of a mixture all but experts; some layers. Each plan measures a dozen times and
// more (placement.ts), so those that cannot fit are left out.

import { isCacheChosen } from "../../src/core/cache-size.ts";
import { DEVICE_PROFILES, isOnDevices, mixtureTokens } from "../../src/core/device-profile.ts";
import { ServiceError } from "../../src/core/error.ts";
import { freeMemory } from "../../src/core/free-memory.ts";
import { sizeText } from "../../src/core/size-text.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import type { Native } from "../library.ts";
import { type ContextPlan, contextColumns, planContext, threadsFor } from "./context.ts";
import {
  type CacheMemory,
  cellsBytes,
  graphLimits,
  infoOf,
  loadModel,
  lowered,
  type ModelFile,
  type ModelInfo,
} from "./model.ts";
import {
  freePlan,
  type LayerPlan,
  type PlanInput,
  placementText,
  planCpuBytes,
  planModel,
  usableMemory,
} from "./placement.ts";
import { planProjector, type ProjectorPlan } from "./projector.ts";
import { couldFit, fewerCells, refuseShortage, shortageText } from "./shortage.ts";

export type NamedFile = Omit<ModelFile, "place">;

interface DeviceLoad {
  readonly file: NamedFile;
  readonly draftFile: NamedFile | undefined;
  readonly freeBytes: () => number;
}

export interface DevicePlan extends Planned {
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
/** Layers without a cache, which are the first to be placed. */
const OUTPUT_LAYERS = 1;
/** Of the weights of a model without experts, at most: the embedding of tokens stays on the CPU. */
const EMBEDDING_SHARE = 1 / 3;

/** Plans context and layers from the headers of the files. */
export async function planDevices(native: Native, asked: TextOptions, load: DeviceLoad): Promise<DevicePlan> {
  const meta = await headerOf(native, load.file);
  const draft = load.draftFile === undefined ? undefined : await headerOf(native, load.draftFile);
  const options = lowered(asked, graphLimits(meta));
  const projector = planProjector(native, options);
  const usable = usableMemory(native, options, projector);
  const planned = await planBatches(native, options, { ...load, meta, draft, projector, usable });
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
  /** What the devices have for the model, bytes. */
  readonly usable: number;
}

async function planBatches(native: Native, options: TextOptions, files: Headers): Promise<Planned> {
  const { meta } = files;
  const isChosen = options.deviceLayers >= 0;
  if (canBeWhole(options, files))
    for (const wanted of [...onDevices(options, meta), ...(isChosen ? [] : [options])]) {
      const planned = await planCells(native, wanted, files, wholeMemory(options, files));
      const { report } = planned.layers;
      if (isOnDevices(report)) return planned;
      freePlan(native, planned.layers);
      const { cells } = planned.plan;
      if (!couldFit(report, cells, isCacheChosen(options) ? cells : leastCells(files))) break;
    }
  if (meta.n_expert > 0 && (!isChosen || isNamed(options)))
    for (const ubatch of new Set([...sizesOnDevices(options, meta), options.ubatch])) {
      const planned = await planExperts(native, { ...options, ubatch }, files);
      if (planned !== undefined && hasAllLayers(planned)) return planned;
      freePlan(native, planned?.layers);
    }
  if (isChosen) return planCells(native, options, files, wholeMemory(options, files));
  const planned = await planWith(native, options, files, dividedMemory(options, files));
  if (planned.layers.report.device_layers > OUTPUT_LAYERS) return planned;
  freePlan(native, planned.layers);
  return planWith(native, options, files, machineMemory());
}

/** Whether its weights could be on devices without exception. */
function canBeWhole(options: TextOptions, files: Headers): boolean {
  const onCpu = files.meta.n_expert > 0 ? 0 : weightsOf(files) * EMBEDDING_SHARE;
  return !isNamed(options) && weightsOf(files) - onCpu <= files.usable;
}

/** Whether a setting says which experts stay on the CPU. */
function isNamed({ placement: { expertsOnCpu = 0 } = {} }: TextOptions): boolean {
  return expertsOnCpu !== 0;
}

function weightsOf({ meta, draft }: Headers): number {
  return meta.size_bytes + (draft?.size_bytes ?? 0);
}

function hasAllLayers({ layers: { report } }: Planned): boolean {
  return report.device_layers === report.layers;
}

/** All layers on devices, and as many experts as fit beside a cache that leaves room for them; undefined where not all layers fit. */
async function planExperts(
  native: Native,
  options: TextOptions,
  files: Headers,
): Promise<Planned | undefined> {
  const share = DEVICE_PROFILES.device.cacheShare;
  if (isNamed(options)) return planCells(native, options, files, { freeBytes: files.usable, share });
  const dense: TextOptions = { ...options, placement: { ...options.placement, expertsOnCpu: "all" } };
  const planned = await planCells(native, dense, files, dividedMemory(options, files));
  freePlan(native, planned.layers);
  const freeBytes = cacheBytes(planned.plan.cells, options, files);
  return hasAllLayers(planned) ? planWith(native, options, files, { freeBytes, share: 1 }) : undefined;
}

/** A cache of default size rather shrinks, to that of a usual context, than push anything to the CPU. */
async function planCells(
  native: Native,
  options: TextOptions,
  files: Headers,
  memory: CacheMemory,
): Promise<Planned> {
  const first = await planWith(native, options, files, memory);
  const least = leastCells(files);
  let planned = first;
  for (let attempt = 0; attempt < CACHE_ATTEMPTS && !isCacheChosen(options); attempt++) {
    const cells = fewerCells(planned.layers.report, planned.plan.cells) ?? 0;
    if (cells < least) break;
    if (planned !== first) freePlan(native, planned.layers);
    planned = await planWith(native, options, files, {
      freeBytes: cacheBytes(cells, options, files),
      share: 1,
    });
    if (!hasWanted(planned)) continue;
    freePlan(native, first.layers);
    return planned;
  }
  if (planned !== first) freePlan(native, planned.layers);
  return first;
}

/** Whether nothing that was wanted on devices is on the CPU. */
function hasWanted(planned: Planned): boolean {
  const { options, layers } = planned;
  if (!layers.report.fits || options.deviceLayers >= 0) return layers.report.fits;
  return isNamed(options) ? hasAllLayers(planned) : isOnDevices(layers.report);
}

/** Options with the choices for a model that is on devices as a whole, the best first; none where nothing differs. */
function onDevices(options: TextOptions, meta: ModelInfo): readonly TextOptions[] {
  const { deviceUbatch, speculative } = options;
  const drafts = speculative?.type === "mtp" ? speculative.deviceNPredict : undefined;
  if (deviceUbatch === undefined && drafts === undefined) return [];
  return sizesOnDevices(options, meta).map((ubatch) => ({
    ...options,
    ubatch,
    ...(speculative?.type === "mtp" && {
      speculative: { ...speculative, mtpNPredict: drafts ?? speculative.mtpNPredict },
    }),
  }));
}

/** Micro-batches on devices, the best first. */
function sizesOnDevices(
  { ubatch, deviceUbatch = ubatch, mixtureUbatch = 0 }: TextOptions,
  { n_expert: count, n_expert_used: used }: ModelInfo,
): readonly number[] {
  return [...new Set([mixtureTokens(deviceUbatch, mixtureUbatch, { count, used }), deviceUbatch])];
}

async function planWith(
  native: Native,
  options: TextOptions,
  { file, draftFile, meta, draft, projector }: Headers,
  memory: CacheMemory,
): Promise<Planned> {
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

function leastCells({ meta }: Headers): number {
  return Math.min(USUAL_CELLS, meta.n_ctx_train);
}

function cacheBytes(cells: number, options: TextOptions, { meta, draft }: Headers): number {
  return cellsBytes(cells, options, meta, draft);
}

/** For the cache of a model that is on devices as a whole, or whose layers are chosen: what weights leave, but room for a usual context. */
function wholeMemory(options: TextOptions, files: Headers): CacheMemory {
  const left = files.usable - weightsOf(files);
  const share = DEVICE_PROFILES.device.cacheShare;
  const least = cacheBytes(leastCells(files), options, files);
  if (left * share > least || (isCacheChosen(options) && left > 0)) return { freeBytes: left, share };
  const isWhole = options.deviceLayers < 0 && !isCacheChosen(options);
  return isWhole ? { freeBytes: least, share: 1 } : machineMemory();
}

/**
 * For the cache of a model of which a part stays on the CPU. That of a mixture is on the devices, where experts want what it leaves; that of
 * others is where the layers are, of which fewer fit the larger it is.
 */
function dividedMemory(options: TextOptions, files: Headers): CacheMemory {
  const { share, freeBytes } = machineMemory();
  const isMixture = files.meta.n_expert > 0;
  if (isCacheChosen(options)) return { freeBytes: isMixture ? files.usable : freeBytes, share };
  const part = share * (isMixture ? files.usable : Math.min(freeBytes, weightsOf(files)));
  return { freeBytes: Math.max(part, cacheBytes(leastCells(files), options, files)), share: 1 };
}

export function machineMemory(): CacheMemory {
  return { freeBytes: freeMemory(), share: DEVICE_PROFILES.cpu.cacheShare };
}
