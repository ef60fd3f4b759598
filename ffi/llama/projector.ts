// Where a projector goes before its model is placed, and the memory that it takes there.

import { modelBytes } from "../../src/core/model-bytes.ts";
import { usableBytes } from "../../src/core/placement.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import { describeHost } from "../host.ts";
import type { Native } from "../library.ts";
import { mediaColumns } from "./media.ts";
import { cText } from "../text.ts";

/** Encoders take about this share of their file for a pass; for files that the library cannot measure. */
const ACTIVATIONS = 0.25;
/** In the place of a device: the CPU. */
export const CPU = -1;

export interface ProjectorPlan {
  /** Its index in svc_system_info, or CPU. */
  readonly device: number;
  /** By the name of a device: weights, and the buffers of the largest pass. */
  readonly bytes: ReadonlyMap<string, number>;
  /** The device with its weights, and their size, bytes. */
  readonly home: string;
  readonly weights: number;
}

/**
 * Places a projector on the device with the most usable memory, or the chosen one (main_gpu); on the CPU where it does not fit.
 * Undefined without a projector.
 */
export function planProjector(native: Native, options: TextOptions): ProjectorPlan | undefined {
  const { mmprojPath: path, placement: { mainGpu, memoryBytes: most = Infinity } = {} } = options;
  if (path === undefined) return undefined;
  const cards = describeHost(native)
    .devices.map((device, index) => ({ ...device, index, usable: usableBytes(device) }))
    .filter(({ type }) => type === "gpu");
  const own = cards.filter(({ name }) => !name.startsWith("RPC")); // images would cross the network
  const [roomiest] = (own.length > 0 ? own : cards).toSorted((a, b) => b.usable - a.usable);
  const card = mainGpu === undefined ? roomiest : cards[mainGpu];
  const usable = Math.min(card?.usable ?? 0, most);
  if (card !== undefined && modelBytes(path) <= usable) {
    const plan = measure(native, path, options, card.index);
    if (Math.max(...plan.bytes.values()) <= usable) return plan;
  }
  return measure(native, path, options, CPU);
}

/** The plan of a projector whose model stays on the CPU. */
export function projectorOnCpu(native: Native, options: TextOptions): ProjectorPlan | undefined {
  return options.mmprojPath === undefined ? undefined : measure(native, options.mmprojPath, options, CPU);
}

function measure(native: Native, path: string, options: TextOptions, device: number): ProjectorPlan {
  const { devices } = describeHost(native);
  const memory = new BigInt64Array(devices.length);
  const columns = mediaColumns({ threads: 1, device, ubatch: options.ubatch });
  const count = native.svc_media_memory(cText(path), columns, columns.length, memory.length, memory);
  const where = device === CPU ? devices.findIndex(({ type }) => type === "cpu") : device;
  const weights = modelBytes(path);
  if (count < 0) memory[where] = BigInt(Math.ceil(weights * (1 + ACTIVATIONS)));
  const bytes = devices.map(({ name }, index) => [name, Number(memory[index] ?? 0n)] as const);
  return { device, bytes: new Map(bytes), home: devices[where]?.name ?? "", weights };
}
