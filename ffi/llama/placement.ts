// Divides a model between the CPU and the devices before it is loaded, and reports what it has taken of each afterwards.
// llama.cpp measures itself without memory (no_alloc): buffers of a pass exceed 300 MB and are in no header. Rejected: trial loads.

import { ServiceError } from "../../src/core/error.ts";
import { sizeText } from "../../src/core/size-text.ts";
import {
  DEVICE_RESERVE_BYTES,
  type ModelPlacement,
  restPhrase,
  usableBytes,
} from "../../src/core/placement.ts";
import type { PlacementOptions, SplitMode, TextOptions } from "../../src/engine/protocol.ts";
import { deviceText } from "../devices.ts";
import { describeHost } from "../host.ts";
import type { Native } from "../library.ts";
import { type ProjectorPlan, projectorOnCpu } from "./projector.ts";
import { copiedEmbeddingBytes } from "./tied-embedding.ts";
import type { WantedLayers } from "./shortage.ts";
import { cText, type Handle, nativeText, takeText } from "../text.ts";

const MIB = 2 ** 20;
/** Interval at which the thread that places is polled, milliseconds. */
const POLL_MS = 20;
/** llama.h: enum llama_split_mode */
const SPLIT_MODES: Readonly<Record<SplitMode, number>> = { none: 0, layer: 1, row: 2 };

interface DeviceBytes {
  readonly name: string;
  readonly description: string;
  readonly weights: number;
  readonly cache: number;
  readonly compute: number;
}

/** svc_place_report, with all weights of the CPU. */
interface Report extends WantedLayers {
  readonly divided_layers: number;
  readonly devices: readonly (DeviceBytes & { readonly free: number; readonly total: number })[];
}

/** svc_context_memory. */
export type BufferBytes = DeviceBytes & { readonly buffer: string };

/** Decided before the load: which layers go where. Freed by its model's owner, after the model. */
export interface LayerPlan {
  readonly handle: Handle;
  readonly report: Report;
  /** That of its draft model, on the first of its devices. */
  readonly draft?: LayerPlan | undefined;
  readonly projector?: ProjectorPlan | undefined;
  /** Main memory of a draft model whose model stays on the CPU, bytes: of its weights, and all. */
  readonly draftOnCpu?: { readonly weights: number; readonly total: number };
}

/** Whether a model with these options may use a device that the process has found. */
export function mayUseDevices(native: Native, { deviceLayers }: TextOptions): boolean {
  return deviceLayers !== 0 && describeHost(native).devices.some(({ type }) => type === "gpu");
}

/** What its devices have for a model beside its projector, bytes. */
export function usableMemory(
  native: Native,
  { placement }: TextOptions,
  projector: ProjectorPlan | undefined,
): number {
  const { memoryBytes: most = Infinity, mainGpu = 0 } = placement ?? {};
  const cards = describeHost(native).devices.filter(({ type }) => type === "gpu");
  const used = splitOf(placement) === "none" ? cards.slice(mainGpu, mainGpu + 1) : cards;
  const usable = used.map(
    (card) => Math.min(usableBytes(card), most) - (projector?.bytes.get(card.name) ?? 0),
  );
  return Math.max(
    0,
    usable.reduce((sum, bytes) => sum + bytes, 0),
  );
}

/** How several devices share a model; one that is chosen has it alone. */
function splitOf({ splitMode, mainGpu }: PlacementOptions = {}): SplitMode {
  return splitMode ?? (mainGpu === undefined ? "layer" : "none");
}

/** What a placement is made from. */
export interface PlanInput {
  readonly path: string;
  readonly options: TextOptions;
  /** Columns of svc_context_new. */
  readonly context: Int32Array;
  readonly withHead: boolean;
  /** Weights of the file, bytes. */
  readonly weights: number;
  /** Layers of the head in the file. */
  readonly headLayers: number;
}

/** Bytes that other files take, by the name of a device. */
type OtherBytes = ReadonlyMap<string, number>;

/**
 * Plans a model beside its projector and its draft model, which is placed before it. Throws ServiceError(model_unavailable) with
 * the reason.
 */
export async function planModel(
  native: Native,
  input: PlanInput,
  draftFile: Pick<PlanInput, "path" | "weights" | "headLayers"> | undefined,
  projector: ProjectorPlan | undefined,
): Promise<LayerPlan> {
  const taken = projector?.bytes ?? new Map<string, number>();
  const draft =
    draftFile === undefined
      ? undefined
      : await planLayers(
          native,
          { ...input, ...draftFile, options: ofDraft(input.options), withHead: true },
          taken,
          input.path,
        );
  try {
    const plan = await planLayers(native, input, withBytes(taken, draft));
    if (plan.report.device_layers > 0) return { ...plan, draft, projector };
    freePlan(native, draft); // a draft model is not faster than its model
    const parts = draft?.report.devices ?? [];
    const draftOnCpu = {
      weights: parts.reduce((sum, { weights }) => sum + weights, 0),
      total: parts.reduce((sum, part) => sum + total(part), 0),
    };
    return { ...plan, draftOnCpu, projector: projector && projectorOnCpu(native, input.options) };
  } catch (error) {
    freePlan(native, draft);
    throw error;
  }
}

/** A draft model is as a whole on one device, the first of its model. */
function ofDraft(options: TextOptions): TextOptions {
  const { mainGpu = 0, memoryBytes } = options.placement ?? {};
  const placement = {
    splitMode: "none",
    mainGpu,
    ...(memoryBytes === undefined ? {} : { memoryBytes }),
  } as const;
  return { ...options, deviceLayers: -1, placement };
}

function withBytes(others: OtherBytes, plan: LayerPlan | undefined): OtherBytes {
  const sums = new Map(others);
  for (const device of plan?.report.devices ?? [])
    sums.set(device.name, (sums.get(device.name) ?? 0) + total(device));
  return sums;
}

/** Frees a plan with that of its draft model. */
export function freePlan(native: Native, plan: LayerPlan | undefined): void {
  if (plan === undefined) return;
  freePlan(native, plan.draft);
  native.svc_place_free(plan.handle);
}

/** Places one file beside others. `base`: the file of the model that it drafts for. */
async function planLayers(
  native: Native,
  input: PlanInput,
  others: OtherBytes,
  base?: string,
): Promise<LayerPlan> {
  const { path, options, context, withHead, headLayers } = input;
  const drafts = options.speculative?.type === "mtp" && (base !== undefined || (withHead && headLayers > 0));
  const { mainGpu, tensorSplit = [], expertsOnCpu = 0, memoryBytes = 0 } = options.placement ?? {};
  const place = Int32Array.of(
    options.deviceLayers,
    SPLIT_MODES[splitOf(options.placement)],
    mainGpu ?? 0,
    expertsOnCpu === "all" ? -1 : expertsOnCpu,
    withHead ? 1 : 0,
    DEVICE_RESERVE_BYTES / MIB,
    Math.ceil(memoryBytes / MIB),
    drafts ? options.speculative.mtpNPredict : 0,
    headLayers > 0 ? 1 : 0,
    ...describeHost(native).devices.map(({ name }) => Math.ceil((others.get(name) ?? 0) / MIB)),
  );
  const split = Float32Array.from(tensorSplit);
  const handle = native.svc_place_begin(
    cText(path),
    place,
    place.length,
    split,
    split.length,
    context,
    context.length,
    base === undefined ? null : cText(base),
  );
  if (handle === null) throw unplaced(native);
  for (;;) {
    const state = native.svc_place_wait(handle, 0);
    if (state > 0) break;
    if (state < 0) {
      const failure = unplaced(native);
      native.svc_place_free(handle);
      throw failure;
    }
    await Bun.sleep(POLL_MS);
  }
  const report: Report = JSON.parse(takeText(native, native.svc_place_report(handle)));
  return { handle, report: withAllWeights(report, input) };
}

/** The library leaves out weights that the CPU's kernels pack; all that are not on devices are on the CPU. */
function withAllWeights(report: Report, { path, weights }: PlanInput): Report {
  const cards = report.devices.slice(0, -1);
  const copied = report.device_layers > 0 ? copiedEmbeddingBytes(path) : 0;
  const rest = weights + copied - cards.reduce((sum, card) => sum + card.weights, 0);
  return {
    ...report,
    devices: report.devices.map((device, index) =>
      index < cards.length ? device : { ...device, weights: Math.max(device.weights, rest) },
    ),
  };
}

function total({ weights, cache, compute }: Pick<DeviceBytes, "weights" | "cache" | "compute">): number {
  return weights + cache + compute;
}

/** Main memory that a planned model takes, bytes. */
export function planCpuBytes({ report, draft, projector, draftOnCpu }: LayerPlan): number {
  const own = report.devices.at(-1);
  if (own === undefined) return 0;
  return (
    total(own) +
    (draftOnCpu?.total ?? 0) +
    (projector?.bytes.get(own.name) ?? 0) +
    (draft === undefined ? 0 : planCpuBytes(draft))
  );
}

function unplaced(native: Native): ServiceError {
  const reason = nativeText(native.svc_last_error());
  return new ServiceError(
    "model_unavailable",
    `the model could not be placed: ${reason}; check main_gpu, tensor_split and split_mode; svc doctor lists the devices`,
  );
}

/** What the context of a placed model has taken of each device, beside the estimate. */
export function placementOf(native: Native, context: Handle, plan: LayerPlan): ModelPlacement {
  const { report, draft, projector } = plan;
  const buffers = contextMemory(native, context);
  return {
    layers: report.layers,
    device_layers: report.device_layers,
    divided_layers: report.divided_layers,
    devices: report.devices.map((planned, index) => {
      const beside = index === report.devices.length - 1 ? plan.draftOnCpu : undefined;
      const { name, description } = planned;
      const own = buffers.filter((buffer) => buffer.name === name);
      const sum = (of: (bytes: DeviceBytes) => number): number =>
        own.reduce((bytes, one) => bytes + of(one), 0);
      const ofDraft = draft?.report.devices.find((device) => device.name === name);
      const weights = planned.weights + (ofDraft?.weights ?? 0) + (beside?.weights ?? 0);
      const media = projector?.bytes.get(name) ?? 0; // the library measures a projector before it is loaded only
      const mediaWeights = projector?.home === name ? Math.min(projector.weights, media) : 0;
      return {
        device: name,
        description,
        weights_bytes: mappedOnce(own, weights) + mediaWeights,
        cache_bytes: sum(({ cache }) => cache),
        compute_bytes: sum(({ compute }) => compute) + media - mediaWeights,
        estimated_bytes:
          total(planned) + (ofDraft === undefined ? 0 : total(ofDraft)) + media + (beside?.total ?? 0),
      };
    }),
  };
}

/** Weights in buffers, bytes. A mapping spans tensors that were copied elsewhere, too: it counts as `expected` minus copied ones. */
function mappedOnce(buffers: readonly BufferBytes[], expected: number): number {
  const sum = (list: readonly BufferBytes[]): number =>
    list.reduce((bytes, { weights }) => bytes + weights, 0);
  const isMapped = ({ buffer }: BufferBytes): boolean => buffer.endsWith("_Mapped");
  const copied = sum(buffers.filter((buffer) => !isMapped(buffer)));
  return copied + Math.min(sum(buffers.filter(isMapped)), Math.max(0, expected - copied));
}

/** What a context holds in each type of buffer. */
export function contextMemory(native: Native, context: Handle): readonly BufferBytes[] {
  return JSON.parse(takeText(native, native.svc_context_memory(context)));
}

/** The devices that get layers, with back end and driver; empty without one. */
export function deviceNames(native: Native, { report }: LayerPlan): string {
  const host = describeHost(native).devices;
  const used = report.device_layers === 0 ? [] : report.devices.slice(0, -1);
  return used
    .map(({ name, description }) => {
      const backend = host.find((device) => device.name === name)?.backend ?? "unknown";
      return deviceText({ name, description, backend });
    })
    .join(", ");
}

/** The placement in a sentence for the operator. */
export function placementText({ report }: LayerPlan): string {
  const { layers, device_layers: placed, fits } = report;
  if (placed === 0) return `all layers stay on the CPU: no layer fits the free memory of the devices`;
  const [cards, [cpu]] = [report.devices.slice(0, -1), report.devices.slice(-1)];
  const names = cards.map(({ name, description }) => `${name} (${description})`).join(", ");
  const free = sizeText(cards.reduce((sum, card) => sum + card.free, 0));
  const used = sizeText(cards.reduce((sum, card) => sum + total(card), 0));
  const rest = restPhrase(report);
  const weights = rest === "" || cpu === undefined ? "" : ` (${sizeText(cpu.weights)} of weights)`;
  const warning = fits
    ? ""
    : ". That leaves less than the reserve: other programs can make the driver fail; lower device_layers";
  const count = placed < layers ? `${placed} of ${layers}` : `all ${layers}`;
  return `${count} layers on ${names}${rest}${weights}: ${used} of ${free} free${warning}`;
}
