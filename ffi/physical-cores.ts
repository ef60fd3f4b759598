// How many threads are worth computing with.

import { readFileSync } from "node:fs";
import { cpus } from "node:os";

/** Physical cores where the system tells, else what it schedules on. Two threads of one core gain nothing in a matmul. */
export function physicalCores(): number {
  try {
    const cores = new Set<string>();
    for (const block of readFileSync("/proc/cpuinfo", "utf8").split("\n\n")) {
      const core = /^core id\s*:\s*(\d+)/m.exec(block)?.[1];
      if (core !== undefined) cores.add(`${/^physical id\s*:\s*(\d+)/m.exec(block)?.[1] ?? 0}:${core}`);
    }
    if (cores.size > 0) return Math.min(cores.size, navigator.hardwareConcurrency);
  } catch {
    // not Linux: the count below is the best there is
  }
  return Math.max(1, cpus().length);
}
