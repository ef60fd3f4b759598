// Temporary folders of this process: below one of its own, which holds a locked file for as long as the process lives. The lock tells
// what a killed process has left. The kernel frees it, and it holds between containers that share the folder; numbers of processes are
// used again, and are those of one container.

import { Database } from "bun:sqlite";
import {
  chmodSync,
  closeSync,
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

const OWN = "svc-run-";
const LOCK = "lock";

/** This process's folders by the folders that they are in, with their locks, which only this list holds. */
const own = new Map<string, { readonly folder: string; readonly lock: Database | undefined }>();

/** A new private folder. It goes with the process unless something is in it; then a later one removes it. Throws StartError. */
export function temporaryFolder(name: string, parent = tmpdir()): string {
  return mkdtempSync(join(ownFolder(parent), `${name}-`));
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
    const making = mkdtempSync(join(parent, `.${OWN}`)); // under this name it is not taken for a dead one
    chmodSync(making, 0o711); // folders of sessions belong to other users where the server is root
    closeSync(openSync(join(making, LOCK), "wx", 0o600));
    const lock = lockedFile(join(making, LOCK));
    const folder = join(parent, basename(making).slice(1));
    renameSync(making, folder);
    own.set(parent, { folder, lock });
    process.once("exit", () => leave(folder));
    return folder;
  } catch (cause) {
    const why = `the folder for temporary files cannot be written (${reasonOf(cause)})`;
    throw new StartError(`${why}; set TMPDIR to one that can`, { cause });
  }
}

function leave(folder: string): void {
  if (namesIn(folder).every((name) => name === LOCK)) rmSync(folder, { recursive: true, force: true });
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
