// The folder of the disk tier: its blocks by key, their eviction and deletion. Knows nothing of what a block holds.

import { randomBytes } from "node:crypto";
import { accessSync, constants, linkSync, lstatSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { privateFolder } from "./private-folder.ts";
import { codeOf } from "./reason.ts";

const SECRET_BYTES = 32;
/** Not the name of a block's folder, which has two digits. */
const SECRET_FILE = "secret";

/** Age of an unfinished file whose writer must have died, milliseconds. */
const UNFINISHED_MS = 10 * 60_000;

interface Entry {
  readonly path: string;
  readonly bytes: number;
  readonly usedMs: number;
}

/**
 * Makes the folder if it is missing; returns its secret, made at the first call. Throws where nothing can be written, or another user
 * may read or have made one of them.
 */
export function openBlockFolder(folder: string): Uint8Array<ArrayBuffer> {
  privateFolder(folder);
  accessSync(folder, constants.W_OK);
  const path = join(folder, SECRET_FILE);
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) makeSecret(path);
  const found = lstatSync(path);
  const isOwn = found.isFile() && found.uid === (process.getuid?.() ?? found.uid);
  if (!isOwn || (found.mode & 0o077) !== 0)
    throw new Error(`${path} must be a file that only its owner, the user running svc, can read`);
  const secret = new Uint8Array(readFileSync(path));
  if (secret.length !== SECRET_BYTES)
    throw new Error(`${path} is damaged; delete it and the blocks beside it`);
  return secret;
}

/** Whole or not at all, also on a full disk and for two engines that start at once, of which the second uses the first one's. */
function makeSecret(path: string): void {
  const aside = `${path}.${randomBytes(8).toString("hex")}`;
  try {
    writeFileSync(aside, randomBytes(SECRET_BYTES), { mode: 0o600, flag: "wx" });
    linkSync(aside, path);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** The file of a block. `key`: 64 hexadecimal digits. */
export function blockPath(folder: string, key: string): string {
  return join(folder, key.slice(0, 2), key);
}

/** Deletes the blocks used least recently until the rest has at most `bytesMax`; returns the bytes of the rest. */
export async function evictBlocks(folder: string, bytesMax: number): Promise<number> {
  const entries = await entriesOf(folder, UNFINISHED_MS);
  let used = bytesOf(entries);
  for (const { path, bytes } of entries.toSorted((a, b) => a.usedMs - b.usedMs)) {
    if (used <= bytesMax) break;
    await unlink(path).catch(() => undefined);
    used -= bytes;
  }
  return used;
}

/** Deletes all blocks; returns their number and bytes. Engines that use the folder go on and write new ones. */
export async function purgeBlocks(
  folder: string,
): Promise<{ readonly blocks: number; readonly bytes: number }> {
  const entries = await entriesOf(folder, 0);
  for (const { path } of entries) await unlink(path).catch(() => undefined);
  return { blocks: entries.length, bytes: bytesOf(entries) };
}

/** The blocks of a folder. Unfinished files of this age are deleted on the way. */
async function entriesOf(folder: string, unfinishedMs: number): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (const inner of await namesIn(folder)) {
    if (!/^[0-9a-f]{2}$/.test(inner)) continue;
    for (const name of await namesIn(join(folder, inner))) {
      const path = join(folder, inner, name);
      const found = await stat(path).catch(() => undefined);
      if (found === undefined) continue;
      if (/^[0-9a-f]{64}$/.test(name)) entries.push({ path, bytes: found.size, usedMs: found.mtimeMs });
      else if (Date.now() - found.mtimeMs >= unfinishedMs) await unlink(path).catch(() => undefined);
    }
  }
  return entries;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}

function bytesOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { bytes }) => sum + bytes, 0);
}
