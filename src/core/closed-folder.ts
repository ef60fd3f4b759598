// Whether another user can reach a path, by the modes of the folders above it. Access control lists are not read.

import { statSync } from "node:fs";

/** The topmost folder above an absolute path that `uid`, alone in a group of the same number, may not enter. */
export function closedFolder(path: string, uid: number): string | undefined {
  return foldersAbove(path).find((folder) => !mayEnter(folder, uid));
}

/** `/a` and `/a/b` for `/a/b/c`. */
export function foldersAbove(path: string): readonly string[] {
  const steps = path.split("/").slice(1, -1);
  return steps.map((_, index) => `/${steps.slice(0, index + 1).join("/")}`);
}

function mayEnter(folder: string, uid: number): boolean {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) return true; // nothing to reach
  if (stats.uid === uid) return (stats.mode & 0o100) !== 0;
  return (stats.mode & (stats.gid === uid ? 0o010 : 0o001)) !== 0;
}
