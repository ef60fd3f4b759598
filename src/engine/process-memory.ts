// Memory of another process of this machine, as Linux counts it.

import { readFileSync } from "node:fs";

export interface ProcessMemory {
  /** In memory, pages of mapped files included, bytes. */
  readonly resident: number;
  /** Part of it that belongs to this process alone and cannot be dropped, bytes. */
  readonly private: number;
}

/** Undefined where there is no process, or it has ended, and on other systems. */
export function processMemory(pid: number | undefined): ProcessMemory | undefined {
  if (pid === undefined) return undefined;
  let status: string;
  try {
    status = readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return undefined;
  }
  const bytes = (key: string): number =>
    1024 * Number(new RegExp(`^${key}:\\s*(\\d+) kB$`, "m").exec(status)?.[1] ?? 0);
  return { resident: bytes("VmRSS"), private: bytes("RssAnon") };
}
