// Passes of many streams over many cells for bus.ts: what the host does for a pass besides computing it, which grows with both.

import type { LlamaBackend } from "../ffi/llama/llama.ts";
import type { SlotId } from "../src/worker/text/backend.ts";

const ROWS = [1, 8, 64, 256];
const CELLS = [512, 6144, 24_576];
const PASSES = 8;

/** Streams and cells that a context must hold. */
export const CELL_STREAMS = Math.max(...ROWS);
export const CELL_CONTEXT = Math.max(...CELLS) + CELL_STREAMS * (PASSES + 2);

/** Counts of passes of one kind, each per pass. */
export interface CellRow {
  readonly rows: number;
  readonly cells: number;
  /** Of the pass that took least, which a busy machine does not change. */
  readonly hostMs: number;
  readonly reused: number;
}

/** A pass with these rows of each slot from `position` on; the first one has an output. */
function pass(backend: LlamaBackend, slots: number, position: number, each: number): void {
  const n = slots * each;
  const columns = {
    token: Int32Array.from({ length: n }, (_, i) => 300 + ((i * 31 + position) % 900)),
    position: Int32Array.from({ length: n }, (_, i) => position + (i % each)),
    slot: Int32Array.from({ length: n }, (_, i) => Math.floor(i / each)),
    output: Int8Array.from({ length: n }, (_, i) => (i === 0 ? 1 : 0)),
  };
  if (backend.decode(columns, n) !== "done") throw new Error("a pass failed");
}

/** One table row for each number of streams and cells; `counts`: those of bus.c since the last call. */
export function cellRows(
  backend: LlamaBackend,
  counts: () => readonly number[],
  chunk: number,
): readonly CellRow[] {
  const out: CellRow[] = [];
  for (const rows of ROWS)
    for (const cells of CELLS) {
      const end = Math.floor(cells / rows);
      const each = Math.max(1, Math.min(end, Math.floor(chunk / rows)));
      for (let at = 0; at < end; at += each) pass(backend, rows, at, Math.min(each, end - at));
      pass(backend, rows, end, 1);
      counts();
      const { reusedGraphs } = backend.traffic();
      let hostMs = Infinity;
      for (let at = 1; at <= PASSES; at++) {
        pass(backend, rows, end + at, 1);
        hostMs = Math.min(hostMs, (counts()[5] ?? 0) / 1000);
      }
      const reused = (backend.traffic().reusedGraphs - reusedGraphs) / PASSES;
      out.push({ rows, cells, hostMs, reused });
      for (let slot = 0; slot < rows; slot++) backend.cutSlot(slot as SlotId, 0);
    }
  return out;
}

/** The rows as a table. */
export function cellsTable(rows: readonly CellRow[]): string {
  return [
    "| Rows of a pass | Cells | Host ms, least | Reused |",
    "|--:|--:|--:|--:|",
    ...rows.map(
      ({ rows: n, cells, hostMs, reused }) =>
        `| ${n} | ${cells} | ${hostMs.toFixed(3)} | ${(100 * reused).toFixed(0)} % |`,
    ),
  ].join("\n");
}
