// Memory of the machine, as far as this process may use it.

import { freemem, totalmem } from "node:os";
import { textIn } from "../core/readable.ts";

export interface Memory {
  readonly totalBytes: number;
  /** Available memory: unused, or reclaimable by the system. */
  readonly availableBytes: number;
  /** Limit of the container; undefined if it is not below the machine's memory. */
  readonly limitBytes: number | undefined;
}

export function readMemory(): Memory {
  const totalBytes = totalmem();
  const limit = process.constrainedMemory();
  return {
    totalBytes,
    availableBytes: availableOf(textIn("/proc/meminfo")) ?? freemem(),
    limitBytes: limit > 0 && limit < totalBytes ? limit : undefined,
  };
}

/** Bytes behind `MemAvailable` of /proc/meminfo. */
export function availableOf(meminfo: string): number | undefined {
  const kib = /^MemAvailable:\s*(\d+) kB$/m.exec(meminfo)?.[1];
  return kib === undefined ? undefined : Number(kib) * 1024;
}
