// Size of a folder and free space of its disk.

import { statfsSync } from "node:fs";
import { lstat, readdir } from "node:fs/promises";

export interface FolderSize {
  /** Disk space of the files. */
  readonly bytes: number;
  /** Files and folders. */
  readonly entries: number;
}

/** Unit of st_blocks, stat(2). */
const BLOCK_BYTES = 512;
const SLASH = Buffer.from("/");

/** Measures `folder`; stops once it exceeds `enough` in bytes or entries. Follows no links. */
export async function folderSize(folder: string, enough: FolderSize): Promise<FolderSize> {
  let bytes = 0;
  let entries = 0;
  const folders = [Buffer.from(folder)]; // names are bytes: not all are UTF-8
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const names = await readdir(next, { encoding: "buffer" }).catch(() => []); // deleted meanwhile
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

/** Free bytes of the folder's disk for ordinary users; infinite where the folder is gone. */
export function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
