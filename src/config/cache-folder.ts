// Folders of the user, by the XDG rule: the cache for unpacked and converted files, and what is kept of a person's choices.

import { accessSync, constants, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
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
  if (named !== undefined && named !== "") return possible(join(named, "svc"));
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

/** The same folder. Throws StartError for one that cannot be made; makes none, since a start may fail for other reasons. */
function possible(folder: string): string {
  let at = folder;
  while (at !== dirname(at) && kindOf(at) === "missing") at = dirname(at);
  if (kindOf(at) === "folder") return folder;
  throw new StartError(
    `the cache folder ${folder} cannot be made, since ${at} is no folder; set XDG_CACHE_HOME to a folder of yours, or unset it`,
  );
}

function kindOf(path: string): "folder" | "missing" | "other" {
  try {
    return statSync(path).isDirectory() ? "folder" : "other";
  } catch {
    return "missing";
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
