// What a model takes of main memory and of each device: before its load by its files and the devices' free memory, after it by what
// its engine has taken.

import { filesBytes, IMAGE_BUFFER_BYTES } from "../core/image-memory.ts";
import type { ModelPlacement } from "../core/placement.ts";
import { ENGINE_PROCESS_BYTES } from "./limits.ts";
import { memoryNeed, type MemoryNeed, totalBytes } from "./memory-fit.ts";
import { type Claim, HOST } from "./places.ts";
import type { DeviceOptions, EngineInfo, EngineOptions, ImageOptions, TextOptions } from "./protocol.ts";

/** An accelerator of this machine. */
export interface Card {
  /** As engines call it. */
  readonly name: string;
  /** What models may take of it, bytes. */
  readonly bytes: number;
}

/** The claim of a model: with `info`, once it is loaded. `cards`: undefined until an engine has looked for them. */
export type ClaimOf = (cards: readonly Card[] | undefined, info?: EngineInfo) => Claim;

/** Reads the files of a model once, for its claim at any time. */
export function claimsOf(options: EngineOptions, freeBytes: number): ClaimOf {
  if (options.kind === "image") {
    const bytes = filesBytes(Object.values(options.files));
    return (cards, info) =>
      info?.placement === undefined ? imageClaim(options, bytes, cards) : placedClaim(info.placement);
  }
  const path = options.kind === "text" ? options.modelPath : undefined;
  if (options.kind === "speech" || path === undefined) return (_, info) => claimOfBuiltin(info);
  const need = memoryNeed(path, options, freeBytes);
  return (cards, info) => {
    if (info?.kind !== "text") return wantedClaim(options, need, cards);
    if (info.placement !== undefined) return placedClaim(info.placement, need?.process);
    const loaded = memoryNeed(path, options, freeBytes, info.cells);
    return onHost(loaded === undefined ? 0 : totalBytes(loaded), loaded?.process);
  };
}

function claimOfBuiltin(info: EngineInfo | undefined): Claim {
  if (info?.kind === "text" && info.placement !== undefined) return placedClaim(info.placement);
  return onHost(info?.sizeBytes ?? 0);
}

/** A model that is to be loaded: as much as it may have of the cards, the rest of main memory. */
function wantedClaim(
  options: TextOptions,
  need: MemoryNeed | undefined,
  cards: readonly Card[] | undefined,
): Claim {
  if (need === undefined || (options.rpcEndpoints ?? []).length > 0) return onHost(0);
  const total = totalBytes(need);
  if ((options.backends ?? []).length === 0) return onHost(total, need.process);
  if (cards === undefined) return onHost(0); // its engine finds the cards, and places it by their free memory
  const used = usedCards(options, cards);
  const model = (total - need.companions) * layerShare(options, need);
  const shares = sharesOf(options, used);
  const claim = new Map<string, number>();
  for (const [index, { name, bytes }] of used.entries()) {
    const wanted = model * (shares[index] ?? 0) + (index === 0 ? need.companions : 0);
    claim.set(name, Math.ceil(Math.min(wanted, bytes, options.placement?.memoryBytes ?? Infinity)));
  }
  const onCards = [...claim.values()].reduce((sum, bytes) => sum + bytes, 0);
  return new Map([...onHost(total - onCards, need.process), ...claim]);
}

/** An image model that is to be loaded: one card, if it holds the model; else its engine chooses. */
function imageClaim(options: ImageOptions, bytes: number, cards: readonly Card[] | undefined): Claim {
  if ((options.backends ?? []).length === 0) return onHost(bytes);
  if (cards === undefined) return onHost(0);
  const wanted = bytes + IMAGE_BUFFER_BYTES;
  const [card] = usedCards(options, cards).toSorted((a, b) => b.bytes - a.bytes);
  const most = Math.min(card?.bytes ?? 0, options.placement?.memoryBytes ?? Infinity);
  if (card === undefined || wanted > most) return onHost(bytes);
  return new Map([...onHost(0), [card.name, wanted]]);
}

/** The cards that its layers are divided between. */
function usedCards({ placement }: DeviceOptions, cards: readonly Card[]): readonly Card[] {
  const { mainGpu, splitMode } = placement ?? {};
  const isAlone = splitMode === "none" || (splitMode === undefined && mainGpu !== undefined);
  return isAlone ? cards.slice(mainGpu ?? 0, (mainGpu ?? 0) + 1) : cards;
}

function layerShare({ deviceLayers }: TextOptions, { layers }: MemoryNeed): number {
  return deviceLayers < 0 ? 1 : Math.min(1, deviceLayers / (layers + 1));
}

/** Shares of the cards: as configured, else by free memory. */
function sharesOf({ placement }: TextOptions, cards: readonly Card[]): readonly number[] {
  const weights = cards.map(({ bytes }, index) => placement?.tensorSplit?.[index] ?? bytes);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => (sum === 0 ? 0 : weight / sum));
}

/** What a loaded model has taken of each device. Memory of RPC workers is claimed with the whole worker. */
function placedClaim({ devices }: ModelPlacement, process?: number): Claim {
  const bytes = devices.map(
    ({ weights_bytes, cache_bytes, compute_bytes }) => weights_bytes + cache_bytes + compute_bytes,
  );
  const cards = devices.slice(0, -1); // the CPU comes last
  const own = cards.map(({ device }, index) => [device, bytes[index] ?? 0] as const);
  return new Map([...onHost(bytes.at(-1) ?? 0, process), ...own.filter(([device]) => !isRemote(device))]);
}

/** Whether a device belongs to an RPC worker, by its name in llama.cpp. */
export function isRemote(device: string): boolean {
  return device.startsWith("RPC");
}

/** A claim of main memory, with that of the engine's process. */
function onHost(bytes: number, process = ENGINE_PROCESS_BYTES): Claim {
  return new Map([[HOST, process + bytes]]);
}
