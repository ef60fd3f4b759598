// Prints Markdown tables of measured rows, for docs/performance.md:  bun bench/tables.ts [--file cells.jsonl] [--all]
// One section a processor and executable, one table a pair of sides. Only the newest executable of each processor, unless --all.

import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Cell, readCells } from "./cells.ts";
import { CACHE } from "./peer.ts";
import { remarks, table } from "./report.ts";

/** The last measurement of each cell: a later one replaces an earlier one. */
function newest(cells: readonly Cell[]): readonly Cell[] {
  const byKey = new Map(cells.map((cell) => [JSON.stringify({ ...cell, row: 0, when: 0 }), cell]));
  return [...byKey.values()];
}

/** Markdown of all sections. */
export function sections(cells: readonly Cell[], all: boolean): string {
  const processors = Map.groupBy(newest(cells), ({ machine }) => machine.processor);
  const parts = [...processors].flatMap(([processor, ofProcessor]) => {
    const executables = [...Map.groupBy(ofProcessor, ({ machine }) => machine.executable).values()];
    return (all ? executables : executables.slice(-1)).map((group) => section(processor, group));
  });
  return parts.join("\n\n");
}

function section(processor: string, cells: readonly Cell[]): string {
  const [first] = cells;
  if (first === undefined) return "";
  const { commit, executable, memory } = first.machine;
  const days = [...new Set(cells.map(({ when }) => when.slice(0, 10)))].join(", ");
  const head = `## ${processor}\n\n${memory}, ${first.threads} threads; svc ${commit} (executable ${executable}); ${days}`;
  const tables = [...Map.groupBy(cells, ({ sides }) => sides.join(" / ")).values()].map((ofSides) => {
    const [left = "", right = ""] = ofSides[0]?.sides ?? [];
    const rows = ofSides.map(({ row }) => row);
    const pairs = [...new Set(ofSides.map((cell) => cell.pairs))].join(", ");
    const notes = [`${pairs} interleaved pairs`, ...remarks(rows, left, right)].map((note) => `- ${note}`);
    return `${table(rows, left, right)}\n\n${notes.join("\n")}`;
  });
  return [head, ...tables].join("\n\n");
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      file: { type: "string", default: join(CACHE, "results", "cells.jsonl") },
      all: { type: "boolean", default: false },
    },
  });
  console.log(sections(readCells(values.file), values.all));
}
