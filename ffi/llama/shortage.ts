// What a plan for devices lacks: refusals before anything is read, and what would make all wanted layers fit.

import { ServiceError } from "../../src/core/error.ts";
import { cellsThatFit, type Shortage, waysToFit } from "../../src/core/shortage.ts";
import { sizeText } from "../../src/core/size-text.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";

/** What the wanted layers would take of a device, bytes. */
export interface DeviceWish {
  readonly name: string;
  readonly bytes: number;
  readonly cache: number;
  readonly compute: number;
  /** All bytes with a cache of LEAST_CELLS. */
  readonly least: number;
  /** What it may take, and could take if no reserve were left. */
  readonly limit: number;
  readonly most: number;
}

/** The part of svc_place_report that this file reads. */
export interface WantedLayers {
  readonly layers: number;
  readonly device_layers: number;
  /** The most layers that fit. */
  readonly fitting_layers: number;
  readonly fits: boolean;
  readonly wanted: readonly DeviceWish[];
  /** The device that holds the cache and has no attention over it; empty where none is needed, or all have it. */
  readonly without_attention: string;
}

/** Cells of a cache of `least` (ffi/shim/placement.cpp). */
const LEAST_CELLS = 256;

/** What the wanted layers lack of the devices; undefined where nothing. */
function shortageOf(
  { wanted }: WantedLayers,
  cells: number,
  limit: "limit" | "most" = "limit",
): Shortage | undefined {
  const short = wanted.filter((wish) => wish.bytes > wish[limit]);
  if (short.length === 0) return undefined;
  const lacking = (wish: DeviceWish): number => wish.bytes - wish[limit];
  const missing = sumOf(short, lacking);
  const ofCell = ({ bytes, least }: DeviceWish): number => (bytes - least) / (cells - LEAST_CELLS);
  const excess = Math.max(...short.map((wish) => lacking(wish) / ofCell(wish))); // cells
  return {
    missing,
    cache: sumOf(wanted, ({ cache }) => cache),
    compute: sumOf(wanted, ({ compute }) => compute),
    cells,
    cellBytes: Number.isFinite(excess) ? missing / excess : 0,
  };
}

function sumOf(wanted: readonly DeviceWish[], of: (wish: DeviceWish) => number): number {
  return wanted.reduce((total, wish) => total + of(wish), 0);
}

/** Whether the wanted layers could fit with `fewest` cells and next to no buffers of a pass; `cells` were planned. */
export function couldFit({ wanted }: WantedLayers, cells: number, fewest: number): boolean {
  const ofCell = ({ bytes, least }: DeviceWish): number => (bytes - least) / Math.max(1, cells - LEAST_CELLS);
  const atLeast = (wish: DeviceWish): number => wish.bytes - wish.compute - (cells - fewest) * ofCell(wish);
  return sumOf(wanted, atLeast) <= sumOf(wanted, ({ limit }) => limit);
}

/** Cells of a cache with which the wanted layers fit; undefined where they do, or where no number of cells helps. */
export function fewerCells(report: WantedLayers, cells: number): number | undefined {
  const shortage = shortageOf(report, cells);
  const fewer = shortage === undefined ? 0 : cellsThatFit(shortage);
  return fewer === 0 ? undefined : fewer;
}

/**
 * Throws ServiceError(model_unavailable) for a plan that cannot work: layers that were chosen and exceed the devices, and a quantized cache
 * over which a device cannot compute attention.
 */
export function refuseShortage(report: WantedLayers, cells: number, options: TextOptions): void {
  const { without_attention: device, wanted, layers, device_layers: placed } = report;
  if (device !== "" && placed > 0)
    throw new ServiceError(
      "model_unavailable",
      `${device} cannot compute attention over a cache of ${options.cacheType} for this model; use cache_type q8_0 or f16, or device_layers 0`,
    );
  const shortage = options.deviceLayers < 0 ? undefined : shortageOf(report, cells, "most");
  if (shortage === undefined) return; // of layers that were not chosen, fewer are placed
  const all = (of: (wish: DeviceWish) => number): string => sizeText(sumOf(wanted, of));
  const parts = `${cells} cache cells ${all((wish) => wish.cache)}, compute buffers ${all(({ compute }) => compute)}`;
  const names = wanted.map(({ name }) => name).join(" and ");
  const ways = waysText({ ...shortage, layersThatFit: report.fitting_layers }, options);
  throw new ServiceError(
    "model_unavailable",
    `${placed} of ${layers} layers need ${all(({ bytes }) => bytes)} of ${names} (${parts}), which has ${all(({ most }) => most)} for them: ${sizeText(shortage.missing)} are missing; use ${ways}`,
  );
}

/** What all layers lack where some stay on the CPU, and what would place them; empty where none has to. */
export function shortageText(report: WantedLayers, cells: number, options: TextOptions): string {
  const isWhole = report.device_layers === report.layers || options.deviceLayers >= 0;
  const shortage = isWhole ? undefined : shortageOf(report, cells);
  if (shortage === undefined) return "";
  return `; for all of them ${sizeText(shortage.missing)} are missing: use ${waysText(shortage, options)}`;
}

function waysText(shortage: Shortage, options: TextOptions): string {
  return [...waysToFit(shortage, options), "a smaller quantization of the model (quant)"].join(", or ");
}
