// How much lies in a folder.

import { lstat, readdir, statfs } from "node:fs/promises";

export interface FolderSize {
  /** What the files take on the disk. */
  readonly bytes: number;
  /** Files and folders. */
  readonly entries: number;
}

const SLASH = Buffer.from("/");

/** Counts what lies in `folder` and stops once it is more than `enough` in either respect. Follows no links. */
export async function folderSize(folder: string, enough: FolderSize): Promise<FolderSize> {
  let bytes = 0;
  let entries = 0;
  const folders = [Buffer.from(folder)]; // names are bytes: one that is no text would be missed
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const found = await readdir(next, { withFileTypes: true, encoding: "buffer" }).catch(() => []); // it may be gone
    entries += found.length;
    for (const entry of found) {
      const path = Buffer.concat([next, SLASH, entry.name]);
      if (entry.isDirectory()) folders.push(path);
      else bytes += await diskBytes(path);
      if (bytes > enough.bytes || entries > enough.entries) return { bytes, entries };
    }
  }
  return { bytes, entries };
}

/** Bytes that the folder's disk has left for ordinary users. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

async function diskBytes(path: Buffer): Promise<number> {
  try {
    return (await lstat(path)).blocks * 512;
  } catch {
    return 0;
  }
}
