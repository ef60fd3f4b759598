// Removes folder trees that code of a model wrote. Such a tree may have 20,000 levels or a million entries, so a child
// process of low priority removes it: the file calls of the server share a few threads. A tree is out of reach as soon as
// `removeTree` returns, because it lies in a folder that its user may not enter.

import { type ChildProcess, spawn } from "node:child_process";
import { lstatSync, mkdtempSync, renameSync, rmdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { deadTemporaries } from "../core/temporary.ts";
import { REMOVAL_CPU_SECS, REMOVAL_MEMORY_KIB, REMOVALS_MAX } from "./limits.ts";

/** Prefix of the folders that hold trees to remove. No folder of a session begins with it: see names.ts of src/exec. */
const ASIDE = ".svc-removed-";

/** Removes one path. Folders without permissions end the first attempt of an ordinary user. */
const REMOVE = `ulimit -t ${REMOVAL_CPU_SECS}; ulimit -d ${REMOVAL_MEMORY_KIB} 2>/dev/null
rm -rf -- "$1" || { chmod -R u+rwx -- "$1"; rm -rf -- "$1"; }`;

/** Removes the paths that its input names, each ended by NUL, until the server has closed it, in whatever way. */
const REMOVER = [
  "-n",
  "19",
  "xargs",
  "-0",
  "-n",
  "1",
  "-P",
  String(REMOVALS_MAX),
  "/bin/sh",
  "-c",
  REMOVE,
  "sh",
];

/** The running child process. It outlives the server until its work is done, and the server does not wait for it. */
let remover: ChildProcess | undefined;
const swept = new Set<string>();

/**
 * Moves a tree or file into a closed folder in `parent`, on the same disk, and has it removed there. Links are not followed.
 * False where it cannot be moved, as on a full disk: it is removed where it is.
 */
export function removeTree(path: string, parent = dirname(path)): boolean {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return true;
  const aside = setAside(path, parent);
  remove(aside ?? path);
  return aside !== undefined;
}

/** Removes what killed servers have left in a folder for temporary files, or of sessions; once for each. */
export async function sweepRemoved(parent: string): Promise<void> {
  if (swept.has(parent)) return;
  swept.add(parent);
  for (const folder of deadTemporaries(parent)) removeTree(folder);
  for (const name of await readdir(parent).catch(() => [])) {
    const path = join(parent, name);
    if (name.startsWith(ASIDE) && isOwnFolder(path)) remove(path);
  }
}

/** Any user may create a folder of this name in the system's temporary folder. */
function isOwnFolder(path: string): boolean {
  const state = lstatSync(path, { throwIfNoEntry: false });
  return state?.isDirectory() === true && state.uid === process.getuid?.();
}

/** The folder that holds the tree now. */
function setAside(path: string, parent: string): string | undefined {
  let aside: string | undefined;
  try {
    aside = mkdtempSync(join(parent, ASIDE));
    renameSync(path, join(aside, "tree"));
    return aside;
  } catch {
    if (aside !== undefined) rmdirSync(aside);
    return undefined;
  }
}

function remove(path: string): void {
  remover ??= startRemover();
  remover.stdin?.write(`${path}\0`);
}

function startRemover(): ChildProcess {
  const child = spawn("nice", REMOVER, { cwd: "/", stdio: ["pipe", "ignore", "ignore"], detached: true });
  const forget = (): void => {
    if (remover === child) remover = undefined; // what it has not removed is swept by the next server
  };
  child.once("error", forget);
  child.once("exit", forget);
  child.stdin.on("error", () => {});
  child.unref();
  return child;
}
