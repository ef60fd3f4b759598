// Memory that the program may still allocate: of the system, or of its control group.

import { readFileSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";

/** Linux keeps the limits of process groups here. */
const CGROUPS = "/sys/fs/cgroup";

interface Accounting {
  /** The line of /proc/self/cgroup that names this process's group: cgroups(7). */
  readonly own: RegExp;
  /** Folder of its groups below the root. */
  readonly folder: string;
  readonly limit: string;
  readonly usage: string;
  /** Entry of memory.stat: pages of files that would be given back first. */
  readonly reclaimable: string;
}

const VERSIONS: readonly Accounting[] = [
  {
    own: /^0::\/(.*)$/m,
    folder: ".",
    limit: "memory.max",
    usage: "memory.current",
    reclaimable: "inactive_file",
  },
  {
    own: /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:\/(.*)$/m,
    folder: "memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    reclaimable: "total_inactive_file",
  },
];

/**
 * Bytes that can be taken without swapping; pages of files that can be dropped count as free. `own`: what /proc/self/cgroup
 * says.
 */
export function freeMemory(root: string = CGROUPS, own: string = read("/proc/self/cgroup")): number {
  const groups = VERSIONS.flatMap((version) =>
    withParents(version.own.exec(own)?.[1] ?? "").map((group) =>
      groupFree(join(root, version.folder, group), version),
    ),
  );
  return Math.max(0, Math.min(freemem(), ...groups));
}

/** Smallest memory limit of the program's control groups, bytes; Infinity without one. */
export function memoryLimit(root: string = CGROUPS, own: string = read("/proc/self/cgroup")): number {
  const limits = VERSIONS.flatMap((version) =>
    withParents(version.own.exec(own)?.[1] ?? "").map((group) => {
      const text = read(join(root, version.folder, group, version.limit));
      return text === "" || !Number.isFinite(Number(text)) ? Infinity : Number(text); // "max" is no number
    }),
  );
  return Math.min(...limits);
}

/** A group's limit holds for all below it. */
function withParents(group: string): readonly string[] {
  const names = group.split("/").filter((name) => name !== "" && name !== "..");
  return Array.from({ length: names.length + 1 }, (_, depth) => names.slice(0, depth).join("/"));
}

/** Bytes left of a group's limit; Infinity without a limit. */
function groupFree(folder: string, { limit, usage, reclaimable }: Accounting): number {
  const limitText = read(join(folder, limit));
  const used = Number(read(join(folder, usage)));
  const bytes = Number(limitText);
  if (limitText === "" || !Number.isFinite(bytes) || !Number.isFinite(used)) return Infinity; // "max" is no number
  const stat = read(join(folder, "memory.stat"));
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
