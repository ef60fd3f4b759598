// Memory that the program may still allocate: of the system, or of its control group.

import { freemem } from "node:os";
import { join } from "node:path";
import { groupFolders } from "./group-folders.ts";
import { textIn } from "./readable.ts";

interface Accounting {
  readonly version: 1 | 2;
  readonly limit: string;
  readonly usage: string;
  /** Entry of memory.stat: pages of files that would be given back first. */
  readonly reclaimable: string;
}

const VERSIONS: readonly Accounting[] = [
  {
    version: 2,
    limit: "memory.max",
    usage: "memory.current",
    reclaimable: "inactive_file",
  },
  {
    version: 1,
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    reclaimable: "total_inactive_file",
  },
];

/** Bytes that can be taken without swapping; pages of files that can be dropped count as free. `root` and `own` as for groupFolders. */
export function freeMemory(root?: string, own?: string): number {
  const groups = VERSIONS.flatMap((one) =>
    groupFolders(one.version, "memory", root, own).map((folder) => groupFree(folder, one)),
  );
  return Math.max(0, Math.min(freemem(), ...groups));
}

/** Smallest memory limit of the program's control groups, bytes; Infinity without one. */
export function memoryLimit(root?: string, own?: string): number {
  const limits = VERSIONS.flatMap(({ version, limit }) =>
    groupFolders(version, "memory", root, own).map((folder) => {
      const text = textIn(join(folder, limit));
      return text === "" || !Number.isFinite(Number(text)) ? Infinity : Number(text); // "max" is no number
    }),
  );
  return Math.min(...limits);
}

/** Bytes left of a group's limit; Infinity without a limit. */
function groupFree(folder: string, { limit, usage, reclaimable }: Accounting): number {
  const limitText = textIn(join(folder, limit));
  const used = Number(textIn(join(folder, usage)));
  const bytes = Number(limitText);
  if (limitText === "" || !Number.isFinite(bytes) || !Number.isFinite(used)) return Infinity; // "max" is no number
  const stat = textIn(join(folder, "memory.stat"));
  const droppable = Number(new RegExp(String.raw`^${reclaimable} (\d+)$`, "m").exec(stat)?.[1] ?? 0);
  return bytes - used + droppable;
}
