// The user's home folder and temporary folder. A process of cron, of `env -i` or of a random user id in a container may have no home.

import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

/** Stands for a missing home where a path is needed that nothing lies below. */
export const NO_HOME = "/nonexistent";

/** The home folder; undefined where neither HOME nor the user database names one. */
export function userHome(): string | undefined {
  try {
    const home = homedir();
    return home === "" ? undefined : home;
  } catch {
    return undefined;
  }
}

/** A path that a person wrote: `~` is the home folder, if there is one. */
export function fromHome(path: string): string {
  const home = userHome();
  return home !== undefined && /^~(?:\/|$)/.test(path) ? join(home, path.slice(1)) : path;
}

/** This user's own folder in the temporary folder. Its name is predictable: check its owner before using it. */
export function userTemporary(name: string): string {
  return join(tmpdir(), `svc-${name}-${process.getuid?.() ?? "own"}`);
}
