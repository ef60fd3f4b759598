// What `bench/gpu.sh` measures, in which order, and what a card could do at best. Pure.

import type { GpuModel } from "./gpu-model.ts";

/** One cell of the table: streams that each send a prompt of about that many tokens. */
export interface Cell {
  readonly streams: number;
  readonly promptTokens: number;
}

/** Cells of one model on one server, which is started once for them; the most worthy group first. */
export interface Group {
  readonly model: GpuModel;
  readonly side: "svc" | "llama-server";
  readonly cells: readonly Cell[];
  /** Flags of svc, for curves. */
  readonly flags: readonly string[];
}

/** Figures of a model that bound its speed. */
export interface ModelSize {
  /** Weights that a token of one stream reads, bytes. */
  readonly activeBytes: number;
  /** All weights, bytes. */
  readonly bytes: number;
  /** Parameters that a token is multiplied with. */
  readonly activeParams: number;
  /** KV cache of a token, bytes. */
  readonly cellBytes: number;
}

export interface Card {
  /** Bytes a second. */
  readonly memory: number;
  /** Operations a second of dense products in 16 bits. */
  readonly flops: number;
}

/** Makers' figures, by a part of the name that the driver gives; the first that fits. */
const CARDS: readonly (readonly [string, Card])[] = [
  ["H200", { memory: 4.8e12, flops: 989e12 }],
  ["H100", { memory: 3.35e12, flops: 989e12 }],
  ["B200", { memory: 8e12, flops: 2250e12 }],
  ["A100", { memory: 2.04e12, flops: 312e12 }],
  ["L40", { memory: 0.864e12, flops: 181e12 }],
  ["L4", { memory: 0.3e12, flops: 121e12 }],
  ["T4", { memory: 0.32e12, flops: 65e12 }],
  ["5090", { memory: 1.79e12, flops: 210e12 }],
  ["4090", { memory: 1.01e12, flops: 165e12 }],
  ["3090", { memory: 0.936e12, flops: 71e12 }],
];

/** Of a card whose name the driver gives; undefined where its maker's figures are not listed. */
export function cardOf(devices: string): Card | undefined {
  return CARDS.find(([name]) => devices.includes(name))?.[1];
}

/** Tokens a second that all streams together cannot exceed: memory or products, whichever is slower. */
export function decodeBound(card: Card, size: ModelSize, { streams, promptTokens }: Cell): number {
  // Experts of several streams differ; more streams than experts read all.
  const read = Math.min(size.bytes, size.activeBytes * streams) + streams * promptTokens * size.cellBytes;
  const seconds = Math.max(read / card.memory, (2 * size.activeParams * streams) / card.flops);
  return streams / seconds;
}

/** The whole table. A server holds the cells of its group at once, so each group has a bound of tokens. */
export function planOf(models: readonly GpuModel[], hasPeer: boolean, isDry: boolean): readonly Group[] {
  const cells: readonly Cell[] = isDry
    ? [
        { streams: 1, promptTokens: 64 },
        { streams: 2, promptTokens: 64 },
        { streams: 1, promptTokens: 192 },
      ]
    : WORTHY;
  const sides = hasPeer ? (["svc", "llama-server"] as const) : (["svc"] as const);
  const table = models.flatMap((model) => sides.map((side): Group => ({ model, side, cells, flags: [] })));
  const [first] = models;
  if (first === undefined) return [];
  const prompt: Cell = { streams: 1, promptTokens: isDry ? 64 : 6144 };
  const curve = (cells: readonly Cell[], flags: readonly string[], model = first): Group => ({
    model,
    side: "svc",
    cells,
    flags,
  });
  const curves = (isDry ? ["64"] : ["512", "2048", "4096"]).map((ubatch) =>
    curve([prompt], ["--ubatch", ubatch, "--batch", String(Math.max(BATCH, Number(ubatch)))]),
  );
  // Each stream has a cache of its own: what attention in one cache costs, which reads the cells of all (decision 241).
  const own: readonly Cell[] = isDry
    ? [{ streams: 2, promptTokens: 64 }]
    : [
        { streams: 64, promptTokens: 512 },
        { streams: 64, promptTokens: 6144 },
      ];
  const apart = own.map((cell) => curve([cell], OWN_CACHES));
  const drafted = (streams: readonly number[]) =>
    streams.map((count) => ({ streams: count, promptTokens: isDry ? 64 : 512 }));
  const copied = curve(drafted([isDry ? 1 : 8]), ["--speculative", "ngram"]);
  // A model that drafts for itself is always right: what a pass of several rows, and a draft, cost beside one row.
  const light = models.find((model) => model === "0.6b") ?? first;
  const drafts = (isDry ? ["2"] : ["1", "4", "8", "16"]).map((tokens) =>
    curve(drafted(isDry ? [1] : [1, 8]), ["--speculative", "mtp", "--mtp-n-predict", tokens], light),
  );
  const ofFirst = table.filter(({ model }) => model === first);
  return [...ofFirst, ...apart, ...table.slice(ofFirst.length), ...curves, ...drafts, copied];
}

const OWN_CACHES = ["--paged-attn", "off"];
/** The default of --batch, which a micro-batch must not exceed. */
const BATCH = 2048;

/** Memory that the driver names first, bytes; undefined where it names none. */
export function memoryOf(devices: string): number | undefined {
  const [, figure, unit] = /(\d+(?:\.\d+)?) ([MGT])B/.exec(devices) ?? [];
  const scale = { M: 1e6, G: 1e9, T: 1e12 }[unit ?? ""];
  return figure === undefined || scale === undefined ? undefined : Number(figure) * scale;
}

/** Share of a card's memory for weights and cache. */
const USABLE_SHARE = 0.88;

/** Cells of a group that a card holds at once: with others the model would be computed by the CPU in part. */
export function fittingCells(
  cells: readonly Cell[],
  size: ModelSize,
  { memory, margin }: { readonly memory: number; readonly margin: number },
): readonly Cell[] {
  const cache = memory * USABLE_SHARE - size.bytes;
  return cells.filter(
    ({ streams, promptTokens }) => streams * (promptTokens + margin) * size.cellBytes <= cache,
  );
}

/** Tokens that the cache holds at most: more would not fit beside an 8B model on most cards. */
const CACHE_TOKENS_MAX = 600_000;

/** Most worthy first: what one user and a few feel, then what a full card does. */
const WORTHY: readonly Cell[] = [
  [1, 512],
  [8, 512],
  [64, 512],
  [1, 6144],
  [1, 24_576],
  [256, 512],
  [8, 6144],
  [64, 6144],
  [8, 24_576],
]
  .map(([streams = 1, promptTokens = 512]) => ({ streams, promptTokens }))
  .filter(({ streams, promptTokens }) => streams * promptTokens <= CACHE_TOKENS_MAX);

/** What is expected of the next cell, from the speeds that a group had so far. */
export interface Pace {
  /** Prompt tokens a second. */
  readonly prompt: number;
  /** Tokens a second of all streams. */
  readonly decode: number;
}

/** Seconds that a cell takes, twice as long as hoped, with its warm-up. */
export function secondsOf({ streams, promptTokens }: Cell, answerTokens: number, pace: Pace): number {
  return 2 * streams * (promptTokens / pace.prompt + answerTokens / pace.decode);
}
