// Folders of the user, by the XDG rule: the cache for unpacked and converted files, and what is kept of a person's choices.

import { accessSync, constants, mkdirSync } from "node:fs";
import { join } from "node:path";
import { privateFolder } from "../core/private-folder.ts";
import { reasonOf } from "../core/reason.ts";
import { StartError } from "../core/start-error.ts";
import { userHome, userTemporary } from "../core/user-home.ts";
import type { Environment } from "./sources.ts";

/**
 * `svc` in XDG_CACHE_HOME, else in the home folder's `.cache`; where that cannot be written, as in many containers, a folder
 * of this user's in the temporary folder. Throws StartError where that cannot be written either, or is another user's.
 */
export function cacheFolder(environment: Environment): string {
  const named = environment["XDG_CACHE_HOME"];
  if (named !== undefined && named !== "") return existing(join(named, "svc"));
  const home = userHome();
  const own = home === undefined ? undefined : join(home, ".cache", "svc");
  if (own !== undefined && isWritable(own)) return own;
  const temporary = userTemporary("cache");
  try {
    privateFolder(temporary); // its name is predictable, and libraries are loaded from below it
  } catch (cause) {
    const why = `the cache has no folder that can be written (${reasonOf(cause)})`;
    throw new StartError(`${why}; set XDG_CACHE_HOME, HOME or TMPDIR to one`, { cause });
  }
  return temporary;
}

/** A folder that is there afterwards; it may be one that others have filled and this user only reads. Throws StartError. */
function existing(folder: string): string {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  } catch (cause) {
    const why = `the cache folder ${folder} cannot be made (${reasonOf(cause)})`;
    throw new StartError(`${why}; set XDG_CACHE_HOME to a folder of yours, or unset it`, { cause });
  }
}

/** `svc` in XDG_CONFIG_HOME, else in the home folder's `.config`: sign-ins, and what is chosen in the web interface. */
export function configFolder(environment: Environment): string {
  const config = environment["XDG_CONFIG_HOME"] || join(userHome() ?? cacheFolder(environment), ".config");
  return join(config, "svc");
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
