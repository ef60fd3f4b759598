// What a model of a repository takes on this machine, and which one to use. Pure: sizes, header and machine are given; memory is
// computed where loads compute it (engine/memory-fit.ts).

import type { HubEstimate, HubModelChoice, HubQuality } from "../core/hub.ts";
import type { GgufHeader } from "../core/gguf.ts";
import { tensorBytes } from "../core/gguf-facts.ts";
import { weightBytes as readBytes, workOf } from "../core/model-work.ts";
import { waysToFit } from "../core/shortage.ts";
import { sizeText } from "../core/size-text.ts";
import type { Card } from "../engine/claims.ts";
import {
  contextThatFits,
  type EstimatedFile,
  estimatedShortage,
  layerCount,
  memoryEstimate,
  memoryLoaded,
  memoryWith,
  trainedContext,
} from "../engine/memory-fit.ts";

/** What models can have of this machine. */
export interface MachineRoom {
  readonly freeBytes: number;
  readonly cards: readonly Card[];
  /** Of main memory; undefined where it was not measured. */
  readonly bytesPerSecond: number | undefined;
}

type Estimated = Pick<
  HubModelChoice,
  "quality" | "loaded_bytes" | "memory" | "context_fits" | "layers" | "device_layers" | "tokens_per_second"
>;

const CONTEXTS = [4096, 8192, 32_768] as const;
/** A recommended model has room for this many tokens, unless it was trained for fewer. */
const USUAL_TOKENS = 8192;
/**
 * Weights are read at this part of the speed of memory; each layer waits for its threads, each token for the server. From 22 models of 80 to
 * 400 MB on two cores (test/real/estimates.ts), and from models of half a gigabyte, which reach 77 % at 31 GB/s and 67 % at 62
 * (docs/performance.md). And how far machines are from that.
 */
const REACHED = 0.85;
const LAYER_SECONDS = 45e-6;
const TOKEN_SECONDS = 150e-6;
const SPREAD = 0.25;
/** Slower answers are slower than people read, tokens/s. */
const READING_SPEED = 8;
/** Best first. */
const ORDER: readonly HubQuality[] = ["full", "high", "good", "reduced", "poor", "unknown"];

/** Quality by the bits in a type's name: `Q4_K_M`, `IQ2_XS`, `BF16`. */
export function qualityOf(quantization: string | null): HubQuality {
  if (quantization === null) return "unknown";
  if (/F(?:16|32)$/.test(quantization)) return "full";
  const bits = Number(/\d/.exec(quantization)?.[0]);
  if (!(bits > 0)) return "unknown";
  if (bits >= 6) return "high";
  if (bits >= 4) return "good";
  return bits === 3 ? "reduced" : "poor";
}

/** Share of a model's bytes that a token of an answer reads; undefined where the tensors are not known. */
export function readShare(parts: readonly GgufHeader[]): number | undefined {
  const tensors = parts.flatMap((part) => [...part.tensors.values()]);
  const all = tensors.reduce((sum, tensor) => sum + (tensorBytes(tensor) ?? 0), 0);
  return all === 0 ? undefined : readBytes(workOf(parts)) / all;
}

/** `modelBytes`: of the model alone. `share`: as `readShare` has it. */
export function estimated(
  file: EstimatedFile,
  { modelBytes, share }: { readonly modelBytes: number; readonly share: number | undefined },
  room: MachineRoom,
): Omit<Estimated, "quality"> {
  const most = trainedContext(file.metadata);
  const contexts = [...new Set([...CONTEXTS.filter((tokens) => tokens < most), most])].filter(
    (tokens) => tokens > 0,
  );
  const layers = layerCount(file.metadata);
  const onCards = layers === undefined ? undefined : layersOnCards(file, layers, room.cards);
  const isOnCpu = (onCards ?? 0) === 0;
  const expected =
    share === undefined || room.bytesPerSecond === undefined || !isOnCpu
      ? undefined
      : 1 / secondsOf(modelBytes * share, layers ?? 0, room.bytesPerSecond);
  return {
    loaded_bytes: memoryLoaded(file),
    memory: contexts.map((tokens) => ({ context_tokens: tokens, memory_bytes: memoryWith(file, tokens) })),
    context_fits: most === 0 ? null : contextThatFits(file, room.freeBytes + cardBytes(room.cards)),
    layers: layers ?? null,
    device_layers: onCards ?? null,
    tokens_per_second: expected === undefined ? null : withSpread(expected),
  };
}

/** How much of the machine's memory a model lacks with the configured cache, and what would make it fit, as loads say it; empty where it fits. */
export function lackText(file: EstimatedFile, { freeBytes, cards }: MachineRoom): string {
  const shortage = estimatedShortage(file, freeBytes + cardBytes(cards));
  if (shortage === undefined) return "";
  const ways = waysToFit(shortage, file.options);
  const how = ways.length === 0 ? "" : `: use ${ways.join(", or ")}`;
  return `${sizeText(shortage.missing)} are missing for ${shortage.cells} cache cells${how}`;
}

/** Of a model whose header cannot be read. */
export const NOT_ESTIMATED: Omit<Estimated, "quality"> = {
  loaded_bytes: null,
  memory: [],
  context_fits: null,
  layers: null,
  device_layers: null,
  tokens_per_second: null,
};

/** Of a token of an answer. */
function secondsOf(bytes: number, layers: number, bytesPerSecond: number): number {
  return bytes / (REACHED * bytesPerSecond) + layers * LAYER_SECONDS + TOKEN_SECONDS;
}

function withSpread(expected: number): HubModelChoice["tokens_per_second"] {
  const round = (value: number): number => Number(value.toPrecision(3));
  return {
    expected: round(expected),
    low: round(expected * (1 - SPREAD)),
    high: round(expected * (1 + SPREAD)),
  };
}

/** Layers of equal size, as many as the cards have room for beside what every model takes. */
function layersOnCards(file: EstimatedFile, layers: number, cards: readonly Card[]): number {
  if (cards.length === 0 || file.options.deviceLayers === 0) return 0;
  const layer = memoryEstimate(file, cardBytes(cards)) / layers;
  const wanted = file.options.deviceLayers < 0 ? layers : Math.min(layers, file.options.deviceLayers);
  return Math.min(wanted, Math.floor(cardBytes(cards) / layer));
}

function cardBytes(cards: readonly Card[]): number {
  return cards.reduce((sum, { bytes }) => sum + bytes, 0);
}

type Candidate = Omit<HubModelChoice, "is_default">;
type Recommendation = Pick<HubEstimate, "recommended" | "reason">;

/**
 * Of those that fit with a usual context: the best quality that is not slower than people read; without one, the usual 4 bits. 16 bits
 * are twice the size of 8 and no better.
 */
export function recommendation(models: readonly Candidate[], usual: string | undefined): Recommendation {
  const fitting = models.filter(hasRoom);
  if (fitting.length === 0) return smallest(models);
  const plain = fitting.filter(({ quality }) => quality !== "full");
  const candidates = plain.length > 0 ? plain : fitting;
  const quick = candidates.filter((one) => (one.tokens_per_second?.expected ?? 0) >= READING_SPEED);
  const best = quick.toSorted(byQuality)[0];
  if (best !== undefined)
    return named(
      best,
      `the best quality (${best.quality}) that fits ${contextText(best)} and ${speedText(best)}`,
    );
  const onCards = candidates.filter(({ layers, device_layers: some }) => (some ?? 0) > 0 && some === layers);
  const whole = onCards.toSorted(byQuality)[0];
  if (whole !== undefined)
    return named(whole, `the best quality (${whole.quality}) that fits the cards ${contextText(whole)}`);
  const other =
    candidates.find(({ id }) => id === usual) ??
    candidates.findLast(({ quality }) => quality === "good") ??
    candidates.toSorted(byQuality)[0];
  if (other === undefined) return smallest(models);
  const isSlow = other.tokens_per_second !== null;
  const why = isSlow ? `; all that fit are slower than people read: it ${speedText(other)}` : "";
  return named(other, `quality ${other.quality}, fits ${contextText(other)}${why}`);
}

/** Whether a model fits the memory that is free, with as long a context as people need. */
function hasRoom({ fit, context_fits: fits, memory }: Candidate): boolean {
  const most = memory.at(-1)?.context_tokens ?? 0;
  return fit === "fits" && fits !== null && fits >= Math.min(USUAL_TOKENS, most);
}

function smallest(models: readonly Candidate[]): Recommendation {
  const one = models.find(({ fit }) => fit === "fits" || fit === "tight");
  if (one !== undefined)
    return named(
      one,
      "the smallest; it fits with a short context, or once other models and programs leave memory",
    );
  const [first] = models;
  if (first === undefined) return { recommended: null, reason: "there is no GGUF model in it" };
  if (first.memory_bytes === null)
    return { recommended: null, reason: "its files do not tell what memory they take" };
  return {
    recommended: null,
    reason: `none fits this machine: the smallest takes about ${sizeText(first.memory_bytes)} of memory`,
  };
}

function named({ id }: Candidate, reason: string): Recommendation {
  return { recommended: id, reason };
}

function contextText({ context_fits: tokens }: Candidate): string {
  return `with ${(tokens ?? 0).toLocaleString("en")} tokens of context`;
}

function speedText({ tokens_per_second: speed }: Candidate): string {
  return speed === null
    ? "has no known speed"
    : `writes about ${speed.expected} tokens/s (${speed.low} to ${speed.high})`;
}

/** The best first; of equal quality the largest, which has more bits. */
function byQuality(a: Candidate, b: Candidate): number {
  return ORDER.indexOf(a.quality) - ORDER.indexOf(b.quality) || b.size_bytes - a.size_bytes;
}
