// Passes of streams of equal length for bus.ts: what attention costs where all streams share one cache, whose other cells a mask hides, and
// where each has a cache of its own. A back end that skips hidden cells takes the same time for both; one that reads them takes a multiple.

import type { LlamaBackend } from "../ffi/llama/llama.ts";
import type { SlotId } from "../src/worker/text/backend.ts";

const PASSES = 4;
/** Cells of a stream side by side where streams take turns: fewer than any back end looks at together. */
const TURN_CELLS = 4;

/** How the cells of the streams lie in the cache. */
export const LAYOUTS = ["apart", "mixed", "own"] as const;
export type Layout = (typeof LAYOUTS)[number];

export interface AttentionRow {
  readonly streams: number;
  readonly cells: number;
  readonly layout: Layout;
  /** Of the pass that took least. */
  readonly passMs: number;
}

/** Rows of streams from `position` on, `each` of every one in `slots`. */
function pass(backend: LlamaBackend, slots: readonly number[], position: number, each: number): void {
  const n = slots.length * each;
  const columns = {
    token: Int32Array.from({ length: n }, (_, i) => 300 + ((i * 31 + position) % 900)),
    position: Int32Array.from({ length: n }, (_, i) => position + (i % each)),
    slot: Int32Array.from({ length: n }, (_, i) => slots[Math.floor(i / each)] ?? 0),
    output: Int8Array.from({ length: n }, (_, i) => (i === 0 ? 1 : 0)),
  };
  if (backend.decode(columns, n) !== "done") throw new Error("a pass failed");
  backend.logits(0); // waits for the device
}

/** Time of a pass with a row of each stream, after `cells` of each: one stream after the other, or all by turns. */
export function attentionRow(
  backend: LlamaBackend,
  [streams, cells]: readonly [number, number],
  layout: Layout,
  chunk: number,
): AttentionRow {
  const slots = Array.from({ length: streams }, (_, slot) => slot);
  const groups = layout === "mixed" ? [slots] : slots.map((slot) => [slot]);
  for (const group of groups) {
    const each = Math.max(
      1,
      Math.min(Math.floor(chunk / group.length), layout === "mixed" ? TURN_CELLS : chunk),
    );
    for (let at = 0; at < cells; at += each) pass(backend, group, at, Math.min(each, cells - at));
  }
  pass(backend, slots, cells, 1);
  let passMs = Infinity;
  for (let at = 1; at <= PASSES; at++) {
    const from = performance.now();
    pass(backend, slots, cells + at, 1);
    passMs = Math.min(passMs, performance.now() - from);
  }
  for (const slot of slots) backend.cutSlot(slot as SlotId, 0);
  return { streams, cells, layout, passMs };
}

/** One line for each number of streams, with the cost in multiples of caches of their own. */
export function attentionTable(rows: readonly AttentionRow[]): string {
  const kinds = [...new Set(rows.map(({ streams, cells }) => `${streams} × ${cells}`))];
  const lines = kinds.map((kind) => {
    const ms = (layout: Layout): number =>
      rows.find((row) => row.layout === layout && `${row.streams} × ${row.cells}` === kind)?.passMs ?? NaN;
    const times = LAYOUTS.map((layout) => ms(layout).toFixed(2));
    return `| ${kind} | ${times.join(" | ")} | ${(ms("apart") / ms("own")).toFixed(1)} | ${(ms("mixed") / ms("own")).toFixed(1)} |`;
  });
  return [
    "| Streams × cells | One cache, stream by stream, ms | One cache, by turns, ms | Own caches, ms | Multiple | By turns |",
    "|--:|--:|--:|--:|--:|--:|",
    ...lines,
  ].join("\n");
}
