// Makes paths reachable for a user who may not enter the folders above them, such as root's home: in a mount namespace of
// the calling thread, an empty read-only folder covers each folder that is closed to the user, and holds the wanted paths
// alone. Needs CAP_SYS_ADMIN. Knows nothing of Landlock, whose rules hold for files and not for paths.
// Rejected: CAP_DAC_READ_SEARCH, which opens root's files; other modes for the operator's folders.

import { closeSync, lstatSync, mkdirSync, openSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { closedFolder } from "../../src/core/closed-folder.ts";
import { cText } from "../text.ts";

/** System calls this file makes; `null` is a null pointer, texts end with 0. The results are those of mount(2), unshare(2). */
export interface MountCalls {
  unshare(flags: number): number;
  mount(
    source: Uint8Array | null,
    target: Uint8Array,
    type: Uint8Array | null,
    flags: number,
    data: Uint8Array | null,
  ): number;
}

export interface WantedPaths {
  /** Files and folders that are to be readable. */
  readonly read: readonly string[];
  /** Folders that are to be writable. */
  readonly write: readonly string[];
}

const NEW_MOUNTS = 0x2_0000; // CLONE_NEWNS
const OPEN_AS_PATH = 0o10_000_000; // O_PATH
const READ_ONLY = 1;
const NO_SUID = 2;
const NO_DEVICES = 4;
const REMOUNT = 32;
const BIND = 4096;
const RECURSIVE = 16_384;
const PRIVATE = 1 << 18;
/** Names of folders, no content. */
const COVER_OPTIONS = "mode=755,size=1m";

/** A wanted path below a folder that is closed to the user. */
interface Hidden {
  readonly path: string;
  /** The topmost folder above it that is closed to the user. */
  readonly closed: string;
  readonly isWritable: boolean;
  readonly isFolder: boolean;
  /** Where the path leads, if it is a symbolic link. */
  readonly link?: string;
}

/** Whether this process may mount; tries it in a namespace that ends with the calling thread. */
export function canMount(calls: MountCalls): boolean {
  return (
    calls.unshare(NEW_MOUNTS) === 0 && calls.mount(null, cText("/"), null, RECURSIVE | PRIVATE, null) === 0
  );
}

/** Does nothing where `uid` can reach all paths. Throws one sentence where a writable path cannot be made reachable. */
export function revealPaths(calls: MountCalls, { read, write }: WantedPaths, uid: number): void {
  const hidden = [
    ...write.flatMap((path) => hiddenPath(path, true, uid)),
    ...read.flatMap((path) => hiddenPath(path, false, uid)),
  ].sort((a, b) => a.path.length - b.path.length); // folders before what lies in them
  if (hidden.length === 0) return;
  if (!canMount(calls)) return insist(hidden);
  const mask = process.umask(0o022);
  // Opened before they are covered; only what was opened in a namespace can be mounted in it.
  const sources = hidden.map(({ path, link }) =>
    link === undefined ? openSync(path, OPEN_AS_PATH) : undefined,
  );
  for (const folder of new Set(hidden.map(({ closed }) => closed))) cover(calls, folder);
  for (const [index, item] of hidden.entries()) reveal(calls, item, `/proc/self/fd/${sources[index]}`);
  for (const source of sources) if (source !== undefined) closeSync(source);
  for (const folder of new Set(hidden.map(({ closed }) => closed))) {
    must(calls.mount(null, cText(folder), null, REMOUNT | BIND | READ_ONLY, null), folder);
  }
  process.umask(mask);
}

/** Shows one file in the place of another, for the calling thread alone. Leaves all as it is where that cannot be. */
export function replaceFile(calls: MountCalls, source: string, target: string): void {
  if (!canMount(calls)) return;
  if (calls.mount(cText(source), cText(target), null, BIND, null) < 0) return;
  must(calls.mount(null, cText(target), null, REMOUNT | BIND | READ_ONLY, null), target);
}

function hiddenPath(path: string, isWritable: boolean, uid: number): readonly Hidden[] {
  const closed = closedFolder(path, uid);
  const stats = closed === undefined ? undefined : lstatSync(path, { throwIfNoEntry: false });
  if (closed === undefined || stats === undefined) return [];
  const link = stats.isSymbolicLink() ? { link: readlinkSync(path) } : {};
  return [{ path, closed, isWritable, isFolder: stats.isDirectory(), ...link }];
}

/** Toolchains out of reach are missing in the sandbox; without its folder a program cannot work. */
function insist(hidden: readonly Hidden[]): void {
  const lost = hidden.find(({ isWritable }) => isWritable);
  if (lost === undefined) return;
  throw new Error(
    `tools run as users who may not enter ${lost.closed}, where ${lost.path} lies, and this server may not mount. ` +
      `Use a folder that every user can reach`,
  );
}

function cover(calls: MountCalls, folder: string): void {
  must(
    calls.mount(cText("svc"), cText(folder), cText("tmpfs"), NO_SUID | NO_DEVICES, cText(COVER_OPTIONS)),
    folder,
  );
}

function reveal(calls: MountCalls, { path, isWritable, isFolder, link }: Hidden, source: string): void {
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined; // it lies in one that is there already
  mkdirSync(dirname(path), { recursive: true });
  if (link !== undefined) {
    if (!isThere) symlinkSync(link, path);
    return;
  }
  if (!isThere && isFolder) mkdirSync(path);
  if (!isThere && !isFolder) writeFileSync(path, "");
  must(calls.mount(cText(source), cText(path), null, BIND | RECURSIVE, null), path);
  if (!isWritable) must(calls.mount(null, cText(path), null, REMOUNT | BIND | READ_ONLY, null), path);
}

function must(result: number, path: string): void {
  if (result < 0) throw new Error(`${path} cannot be made reachable: mount failed`);
}
