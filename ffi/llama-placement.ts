// Divides a model between the CPU and the devices before it is loaded, and reports what it has taken of each afterwards.

import { cellBytes } from "../src/core/cache-size.ts";
import { ServiceError } from "../src/core/error.ts";
import { modelBytes } from "../src/core/model-bytes.ts";
import type { ModelPlacement } from "../src/core/placement.ts";
import type { SplitMode, TextOptions } from "../src/engine/protocol.ts";
import { driverOf } from "./devices.ts";
import { describeHost } from "./host.ts";
import type { Native } from "./library.ts";
import { cellElements, type ModelInfo } from "./llama-model.ts";
import { cText, type Handle, nativeText, takeText } from "./text.ts";

const MIB = 2 ** 20;
/** Left free on each device, MiB; an eighth of the memory of small ones. */
const RESERVE_MIB = 1024;
/** Encoders of images need about this share of their file for activations. */
const PROJECTOR_ACTIVATIONS = 0.25;
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

/** svc_place_report. */
interface Report {
  readonly layers: number;
  readonly device_layers: number;
  readonly divided_layers: number;
  readonly fits: boolean;
  readonly devices: readonly (DeviceBytes & { readonly free: number; readonly total: number })[];
}

/** svc_context_memory. */
export type BufferBytes = DeviceBytes & { readonly buffer: string };

/** Decided before the load: which layers go where. Freed by its model's owner, after the model. */
export interface LayerPlan {
  readonly handle: Handle;
  readonly report: Report;
}

/** Whether a model with these options may use a device that the process has found. */
export function mayUseDevices(native: Native, { deviceLayers }: TextOptions): boolean {
  return deviceLayers !== 0 && describeHost(native).devices.some(({ type }) => type === "gpu");
}

/** What the devices have free for a cache beside the weights, bytes; 0 where they cannot hold them. */
export function cacheMemory(native: Native, options: TextOptions, weights: number): number {
  const { memoryBytes: most = Infinity } = options.placement ?? {};
  const cards = describeHost(native).devices.filter(({ type }) => type === "gpu");
  const usable = cards.map(({ memory_free: free, memory_total: total }) =>
    Math.max(0, Math.min(free - Math.min(RESERVE_MIB * MIB, total / 8), most)),
  );
  return Math.max(0, usable.reduce((sum, bytes) => sum + bytes, 0) - weights - otherBytes(options));
}

/** Files that go to the first device as a whole: projector and draft model. */
function otherBytes({ mmprojPath, speculative }: TextOptions): number {
  const draft = speculative?.type === "mtp" ? speculative.mtpModel : undefined;
  const projectorBytes = mmprojPath === undefined ? 0 : modelBytes(mmprojPath);
  return projectorBytes * (1 + PROJECTOR_ACTIVATIONS) + (draft === undefined ? 0 : modelBytes(draft));
}

/** What a placement is made from. */
export interface PlanInput {
  readonly path: string;
  readonly options: TextOptions;
  /** Columns of svc_context_new. */
  readonly context: Int32Array;
  readonly withHead: boolean;
  /** Bytes of the draft model's cache. */
  readonly draftCache: number;
}

/** Bytes of the cache of a draft model. */
export function draftCacheBytes(
  draft: ModelInfo | undefined,
  cells: number,
  { cacheType }: TextOptions,
): number {
  if (draft === undefined) return 0;
  return cells * cellBytes({ elements: cellElements(draft), trainedContext: draft.n_ctx_train }, cacheType);
}

/** Places a model. Throws ServiceError(model_unavailable) with the reason. */
export async function planLayers(native: Native, input: PlanInput): Promise<LayerPlan> {
  const { path, options, context, withHead, draftCache } = input;
  const { splitMode, mainGpu, tensorSplit = [], expertsOnCpu = 0, memoryBytes = 0 } = options.placement ?? {};
  const mode = splitMode ?? (mainGpu === undefined ? "layer" : "none");
  const place = Int32Array.of(
    options.deviceLayers,
    SPLIT_MODES[mode],
    mainGpu ?? 0,
    expertsOnCpu === "all" ? -1 : expertsOnCpu,
    withHead ? 1 : 0,
    RESERVE_MIB,
    Math.ceil(memoryBytes / MIB),
    Math.ceil((otherBytes(options) + draftCache) / MIB),
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
  return { handle, report };
}

function unplaced(native: Native): ServiceError {
  const reason = nativeText(native.svc_last_error());
  return new ServiceError(
    "model_unavailable",
    `the model could not be placed: ${reason}. Check main_gpu, tensor_split and split_mode; svc doctor lists the devices.`,
  );
}

/** What the context of a placed model has taken of each device, beside the estimate. */
export function placementOf(native: Native, context: Handle, { report }: LayerPlan): ModelPlacement {
  const buffers = contextMemory(native, context);
  return {
    layers: report.layers,
    device_layers: report.device_layers,
    divided_layers: report.divided_layers,
    devices: report.devices.map(({ name, description, ...estimate }) => {
      const own = buffers.filter((buffer) => buffer.name === name);
      const sum = (of: (bytes: DeviceBytes) => number): number =>
        own.reduce((total, one) => total + of(one), 0);
      return {
        device: name,
        description,
        weights_bytes: sum(({ weights }) => weights),
        cache_bytes: sum(({ cache }) => cache),
        compute_bytes: sum(({ compute }) => compute),
        estimated_bytes: estimate.weights + estimate.cache + estimate.compute,
      };
    }),
  };
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
      return `${name} (${description}; back end ${backend}${driverOf(backend)})`;
    })
    .join(", ");
}

/** The placement in a sentence for the operator. */
export function placementText({ report }: LayerPlan): string {
  const { layers, device_layers: placed, divided_layers: divided, fits } = report;
  const cards = report.devices.slice(0, -1);
  const names = cards.map(({ name, description }) => `${name} (${description})`).join(", ");
  const free = gigabytes(cards.reduce((sum, card) => sum + card.free, 0));
  const used = gigabytes(cards.reduce((sum, card) => sum + card.weights + card.cache + card.compute, 0));
  if (placed === 0) return `all layers stay on the CPU: no layer fits the free memory of the devices`;
  const experts = divided > 0 ? `; experts of ${divided} of them on the CPU` : "";
  const warning = fits
    ? ""
    : ". That is more than is free: expect the driver to fail, or lower device_layers";
  return placed < layers
    ? `${placed} of ${layers} layers on ${names}${experts}, the rest on the CPU: ${used} of ${free} free${warning}`
    : `all ${layers} layers on ${names}${experts}: ${used} of ${free} free${warning}`;
}

function gigabytes(bytes: number): string {
  return bytes < 1e8 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
