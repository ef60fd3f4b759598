// Cache folder for unpacked and converted files, by the XDG rule.

import { accessSync, constants, mkdirSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { privateFolder } from "../core/private-folder.ts";
import type { Environment } from "./sources.ts";

/**
 * `svc` in XDG_CACHE_HOME, else in the home folder's `.cache`; where that cannot be written, as in many containers, a folder
 * of this user's in the temporary folder. Throws where another user has made a folder of that name.
 */
export function cacheFolder(environment: Environment): string {
  const named = environment["XDG_CACHE_HOME"];
  if (named !== undefined && named !== "") return join(named, "svc");
  const own = join(homedir(), ".cache", "svc");
  if (isWritable(own)) return own;
  const temporary = join(tmpdir(), `svc-cache-${process.getuid?.() ?? "own"}`);
  privateFolder(temporary); // its name is predictable, and libraries are loaded from below it
  return temporary;
}

function isWritable(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
