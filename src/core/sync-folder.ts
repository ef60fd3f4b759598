import { open } from "node:fs/promises";

/** Syncs a folder's entries to disk: a new file's name is lost in a crash otherwise. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
