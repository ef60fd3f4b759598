// How much lies in a folder.

import { statfsSync } from "node:fs";
import { lstat, readdir } from "node:fs/promises";

export interface FolderSize {
  /** What the files take on the disk. */
  readonly bytes: number;
  /** Files and folders. */
  readonly entries: number;
}

/** Unit of st_blocks, stat(2). */
const BLOCK_BYTES = 512;
const SLASH = Buffer.from("/");

/** Counts what lies in `folder` and stops once it is more than `enough` in either respect. Follows no links. */
export async function folderSize(folder: string, enough: FolderSize): Promise<FolderSize> {
  let bytes = 0;
  let entries = 0;
  const folders = [Buffer.from(folder)]; // names are bytes: one that is no text would be missed
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const names = await readdir(next, { encoding: "buffer" }).catch(() => []); // it may be gone again
    entries += names.length;
    for (const name of names) {
      const path = Buffer.concat([next, SLASH, name]);
      const state = await lstat(path).catch(() => undefined);
      if (state?.isDirectory() === true) folders.push(path);
      bytes += (state?.blocks ?? 0) * BLOCK_BYTES;
      if (bytes > enough.bytes || entries > enough.entries) return { bytes, entries };
    }
  }
  return { bytes, entries };
}

/** Bytes that the folder's disk has left for ordinary users; without end where the folder is gone. */
export function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
