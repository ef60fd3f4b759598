// Folders whose content is trusted because no other user can write to them.

import { lstatSync, mkdirSync } from "node:fs";

/** Creates the folder for this user alone; refuses one that another user could have prepared. */
export function privateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const stat = lstatSync(path);
  const uid = process.getuid?.();
  if (!stat.isDirectory() || (uid !== undefined && stat.uid !== uid) || (stat.mode & 0o022) !== 0) {
    throw new Error(`${path} must be a folder that only its owner, the user running svc, can write to`);
  }
}
