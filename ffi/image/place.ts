// Chooses what computes an image model: a device with its weights, a device that gets them from main memory part by part, or the CPU.
// The library loads weights with the first image; files say how much they take, and graphs that are built alone how much buffers do.

import { ServiceError } from "../../src/core/error.ts";
import { imageShortage } from "../../src/core/image-memory.ts";
import { type ModelPlacement, usableBytes } from "../../src/core/placement.ts";
import { sizeText } from "../../src/core/size-text.ts";
import type { EngineHost } from "../../src/core/system.ts";
import type { DeviceOptions } from "../../src/engine/protocol.ts";
import { deviceText } from "../devices.ts";

type Device = EngineHost["devices"][number];

/** Where an image model is computed. */
export interface ImagePlan {
  /** Name of the device; absent: the CPU. */
  readonly device?: string;
  /** Bytes that the device keeps at a time, the weights staying in main memory; absent: it keeps them all. */
  readonly budget?: number;
  /** What is left for the buffers of an image, bytes. */
  readonly room: number;
  /** For the operator; absent where there was nothing to choose. */
  readonly summary?: string;
  /** The device with its back end and driver; empty for the CPU. */
  readonly devices: string;
  readonly placement?: ModelPlacement;
}

const ON_CPU: ImagePlan = { room: Infinity, devices: "" };

/** Memory of a model and of this machine, bytes. */
export interface ImageMemory {
  readonly weights: number;
  /** Buffers of an image of usual size on a device, decoded in tiles. */
  readonly buffers: number;
  /** Free main memory. */
  readonly free: number;
}

/** Throws ServiceError(model_unavailable) where a chosen device cannot take the model, or nothing can. */
export function planImages(
  devices: readonly Device[],
  options: DeviceOptions,
  memory: ImageMemory,
): ImagePlan {
  const card = chosenCard(devices, options);
  const plan = card === undefined ? ON_CPU : planOn(card, options, memory);
  const isInMainMemory = plan.device === undefined || plan.budget !== undefined;
  const shortage = isInMainMemory ? imageShortage(memory.weights, memory.free) : undefined;
  if (shortage !== undefined) throw shortage;
  return plan;
}

/** The configured device, else the one with the most usable memory; undefined for the CPU. */
export function chosenCard(
  devices: readonly Device[],
  { placement, deviceLayers }: DeviceOptions,
): Device | undefined {
  if (deviceLayers === 0) return undefined;
  const cards = devices.filter(({ type }) => type === "gpu");
  const { mainGpu } = placement ?? {};
  if (mainGpu === undefined || cards.length === 0)
    return cards.toSorted((a, b) => usableBytes(b) - usableBytes(a))[0];
  const card = cards[mainGpu];
  if (card !== undefined) return card;
  throw new ServiceError(
    "model_unavailable",
    `main_gpu: ${mainGpu} is not a device, there are ${cards.length}; svc doctor lists the devices`,
  );
}

function planOn(card: Device, options: DeviceOptions, { weights, buffers }: ImageMemory): ImagePlan {
  const most = options.placement?.memoryBytes ?? Infinity;
  const usable = Math.min(usableBytes(card), most);
  const name = `${card.name} (${card.description})`;
  const taken = (kept: number): ModelPlacement => onDevice(card, { weights, kept, buffers });
  const all = weights + buffers;
  const found = `${sizeText(usable)} of ${name} are usable`;
  if (all <= usable)
    return {
      device: card.name,
      room: usable - weights,
      summary: `images are computed on ${name}: ${sizeText(weights)} of weights, ${sizeText(buffers)} of buffers, ${sizeText(usable)} usable`,
      devices: deviceText(card),
      placement: taken(weights),
    };
  if (buffers <= usable)
    return {
      device: card.name,
      budget: usable,
      room: usable,
      summary: `images are computed on ${name}, which gets the weights from main memory part by part, for each pass: all need ${sizeText(all)} with buffers, and ${sizeText(usable)} are usable`,
      devices: deviceText(card),
      placement: taken(0),
    };
  const needed = `buffers need ${sizeText(buffers)}, and ${found}`;
  if (options.deviceLayers > 0)
    throw new ServiceError(
      "model_unavailable",
      `device_layers: the image model does not fit the device: ${needed}; use a larger memory_mb, another device (main_gpu), or leave out device_layers to compute images on the CPU`,
    );
  return { ...ON_CPU, summary: `images are computed on the CPU: ${needed}` };
}

/** A model on a device counts as one layer. `kept`: bytes of its weights there; the others are in main memory. */
function onDevice(
  { name, description }: Device,
  { weights, kept, buffers }: Record<"weights" | "kept" | "buffers", number>,
): ModelPlacement {
  const part = (device: string, text: string, bytes: number, compute: number) => ({
    device,
    description: text,
    weights_bytes: bytes,
    cache_bytes: 0,
    compute_bytes: compute,
    estimated_bytes: bytes + compute,
  });
  const host = part("CPU", "main memory", weights - kept, 0);
  return {
    layers: 1,
    device_layers: 1,
    divided_layers: 0,
    devices: [part(name, description, kept, buffers), host],
  };
}
