// Size of a folder and free space of its disk.

import { statfsSync } from "node:fs";
import { walkTree } from "./walk.ts";

export interface FolderSize {
  /** Disk space of the files. */
  readonly bytes: number;
  /** Files and folders. */
  readonly entries: number;
}

/** Unit of st_blocks, stat(2). */
const BLOCK_BYTES = 512;

/** A folder with too many entries, or too deep to be measured: code could hide any amount of data in it. */
const IMMEASURABLE: FolderSize = { bytes: Number.POSITIVE_INFINITY, entries: Number.POSITIVE_INFINITY };

/**
 * Measures `folder`; stops once it exceeds `enough` in bytes or entries, or takes too long. A file of several links counts
 * once.
 */
export async function folderSize(folder: string, enough: FolderSize): Promise<FolderSize> {
  let bytes = 0;
  let entries = 0;
  const linked = new Set<number>();
  const end = await walkTree(folder, {
    entriesMax: enough.entries,
    visit: (_path, state) => {
      const { blocks, nlink, ino } = state;
      entries++;
      if (nlink === 1 || state.isDirectory() || !linked.has(ino)) bytes += blocks * BLOCK_BYTES;
      if (nlink > 1) linked.add(ino);
      return bytes <= enough.bytes;
    },
  });
  return end === "depth" || end === "entries" ? IMMEASURABLE : { bytes, entries };
}

/** Free bytes of the folder's disk for ordinary users; infinite where the folder is gone. */
export function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
