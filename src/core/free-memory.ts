// How much memory the program may still take: what the system has, or what the group of processes it runs in is allowed.

import { readFileSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";

/** Linux keeps the limits of process groups here. */
const CGROUPS = "/sys/fs/cgroup";

interface Accounting {
  readonly limit: string;
  readonly usage: string;
  /** Entry of memory.stat: pages of files that would be given back first. */
  readonly reclaimable: string;
}

const VERSIONS: readonly Accounting[] = [
  { limit: "memory.max", usage: "memory.current", reclaimable: "inactive_file" },
  {
    limit: "memory/memory.limit_in_bytes",
    usage: "memory/memory.usage_in_bytes",
    reclaimable: "total_inactive_file",
  },
];

/** Bytes that can be taken without swapping; pages of files that can be dropped count as free. */
export function freeMemory(root: string = CGROUPS): number {
  return Math.max(0, Math.min(freemem(), ...VERSIONS.map((version) => groupFree(root, version))));
}

/** Bytes that are left of a group's limit; Infinity where there is none. */
function groupFree(root: string, { limit, usage, reclaimable }: Accounting): number {
  const limitText = read(join(root, limit));
  const used = Number(read(join(root, usage)));
  const bytes = Number(limitText);
  if (limitText === "" || !Number.isFinite(bytes) || !Number.isFinite(used)) return Infinity; // "max" is no number
  const stat = read(join(root, limit, "../memory.stat"));
  const droppable = Number(new RegExp(String.raw`^${reclaimable} (\d+)$`, "m").exec(stat)?.[1] ?? 0);
  return bytes - used + droppable;
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return ""; // not Linux, or the other version
  }
}
