// Folders whose content is trusted because no other user can write to them.

import { assert } from "./assert.ts";
import { lstatSync, mkdirSync } from "node:fs";

/** User id of this process. */
export function ownUid(): number {
  const uid = process.getuid?.();
  assert(uid !== undefined, "the system has user ids");
  return uid;
}

/**
 * Creates the folder for this user alone; refuses one that another user could have prepared. Windows has no user ids; there
 * each user has a profile and a temporary folder that no other user can write to.
 */
export function privateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const stat = lstatSync(path);
  if (process.getuid === undefined && stat.isDirectory()) return;
  if (!stat.isDirectory() || stat.uid !== ownUid() || (stat.mode & 0o022) !== 0) {
    throw new Error(`${path} must be a folder that only its owner, the user running svc, can write to`);
  }
}
