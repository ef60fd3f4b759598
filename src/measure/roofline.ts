// The speed that memory and cores of a machine allow a model: S. Williams et al. 2009, Roofline.
// Bytes and products are counted from the file's header, experts on average; the machine is measured before and after each run, since
// memory of a virtual machine changes within a second. Rejected: counting in the graph, which counts what it does, not what it must.

import type { BenchRow, MachineSpeed, RooflineLimit } from "../core/measure.ts";
import { type ModelWork, passWork } from "../core/model-work.ts";

/** The limit of a measured row, whose prompts are computed `ubatch` rows at a time. */
export function limitOf(row: BenchRow, work: ModelWork, ubatch: number, speed: MachineSpeed): RooflineLimit {
  const { test, tokens, depth, concurrency } = row;
  const all = tokens * concurrency;
  const seen = depth + tokens / 2; // of the first token to those of the last one
  const read = seen * concurrency;
  const passes = test === "answer" ? tokens : Math.ceil(all / ubatch);
  const rows = all / passes;
  const outputs = test === "answer" ? concurrency : concurrency / passes;
  const { bytes, products } = passWork(work, { rows, outputs, seen, read });
  const memorySeconds = (passes * bytes) / speed.bytes_per_second;
  const coreSeconds = (passes * products) / speed.products_per_second;
  const limit = all / Math.max(memorySeconds, coreSeconds);
  return {
    tokens_per_second: limit,
    by: memorySeconds > coreSeconds ? "memory" : "cores",
    share: row.tokens_per_second.mean / limit,
  };
}
