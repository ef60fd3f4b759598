// Temporary folders of this process: below one of its own, which holds a locked file for as long as the process lives. The lock tells
// what a killed process has left. The kernel frees it, and it holds between containers that share the folder; numbers of processes are
// used again, and are those of one container.

import { Database } from "bun:sqlite";
import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { reasonOf } from "./reason.ts";
import { StartError } from "./start-error.ts";

const OWN = ".svc-run-";
/** Of a folder whose lock is being made; it is not taken for a dead one. */
const MAKING = ".svc-new-";
const LOCK = "lock";

interface Own {
  readonly folder: string;
  /** Held until it is closed; undefined where files cannot be locked. */
  readonly lock: Database | undefined;
}

/** This process's folders, by the folders that they are in. */
const own = new Map<string, Own>();
process.once("exit", () => {
  for (const parent of own.keys()) leave(parent);
});

/**
 * A new private folder. It goes with the process unless something is in it; then a later one removes it. Throws StartError where there can
 * be none.
 */
export function temporaryFolder(name: string, parent = tmpdir()): string {
  return mkdtempSync(join(ownFolder(parent), `${name}-`));
}

/**
 * The path of a file that is made apart and then renamed to `path`: others see it whole or not at all, and two processes that make it do not
 * write to one. Removes what killed ones have left there.
 */
export function asideOf(path: string): string {
  const parent = dirname(path);
  for (const left of deadTemporaries(parent)) rmSync(left, { recursive: true, force: true });
  return join(temporaryFolder("made", parent), basename(path));
}

/** Makes a file so. */
export function writeAside(path: string, write: (aside: string) => void): void {
  const aside = asideOf(path);
  try {
    write(aside);
    renameSync(aside, path);
  } finally {
    removeTemporary(dirname(aside));
  }
}

/** Removes a temporary folder, and with the last one what holds them. */
export function removeTemporary(folder: string): void {
  if (existsSync(folder)) rmSync(folder, { recursive: true, force: true });
  const parent = dirname(dirname(folder));
  if (own.get(parent)?.folder === dirname(folder)) leave(parent);
}

/** Where a temporary folder can be moved to so that others cannot reach it: beside the process's folder. */
export function besideTemporary(path: string): string {
  const parent = dirname(path);
  return basename(parent).startsWith(OWN) ? dirname(parent) : parent;
}

/** The folders that killed processes of this user have left. */
export function deadTemporaries(parent = tmpdir()): readonly string[] {
  const mine = own.get(parent)?.folder;
  return namesIn(parent)
    .filter((name) => name.startsWith(OWN))
    .map((name) => join(parent, name))
    .filter((folder) => folder !== mine && isOwn(folder) && isDead(join(folder, LOCK)));
}

function ownFolder(parent: string): string {
  const made = own.get(parent);
  if (made !== undefined) return made.folder;
  try {
    const making = mkdtempSync(join(parent, MAKING));
    chmodSync(making, 0o711); // folders of sessions belong to other users where the server is root
    closeSync(openSync(join(making, LOCK), "wx", 0o600));
    const lock = lockedFile(join(making, LOCK));
    const folder = join(parent, basename(making).replace(MAKING, OWN));
    renameSync(making, folder);
    own.set(parent, { folder, lock });
    return folder;
  } catch (cause) {
    const fix = parent === tmpdir() ? "set TMPDIR to a folder that can" : "name another place";
    throw new StartError(`${parent} cannot be written to (${reasonOf(cause)}); ${fix}`, { cause });
  }
}

function leave(parent: string): void {
  const made = own.get(parent);
  if (made === undefined || namesIn(made.folder).some((name) => name !== LOCK)) return;
  own.delete(parent);
  rmSync(made.folder, { recursive: true, force: true });
  made.lock?.close();
}

/** Any user may create a folder of this name. */
function isOwn(folder: string): boolean {
  const state = lstatSync(folder, { throwIfNoEntry: false });
  return state?.isDirectory() === true && state.uid === (process.getuid?.() ?? state.uid);
}

function isDead(file: string): boolean {
  const lock = lockedFile(file);
  lock?.close();
  return lock !== undefined;
}

/** The file, locked until it is closed; undefined where another process has it, or files cannot be locked. */
function lockedFile(file: string): Database | undefined {
  let db: Database | undefined;
  try {
    db = new Database(file, { create: false, readwrite: true });
    db.run("PRAGMA journal_mode = MEMORY"); // no second file
    db.run("BEGIN EXCLUSIVE");
    return db;
  } catch {
    db?.close();
    return undefined;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
