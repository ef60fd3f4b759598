// Lock file that keeps two processes from downloading the same content. The holder touches it periodically; an old lock
// belongs to a process that was killed.
//
// Two holders at once, after a suspended machine wakes, are harmless: both write the same bytes to the same file, which is
// verified before it gets its name. Bun has no flock, and the npm packages for locks are unmaintained.

import { mkdirSync, openSync, closeSync, rmSync, statSync, utimesSync } from "node:fs";
import { dirname } from "node:path";
import { LOCK_BEAT_MS, LOCK_STALE_MS } from "./limits.ts";

/**
 * Runs `work` while holding the lock `file`. Calls `onWait` once if it must wait for another holder. Rejects with the signal's
 * reason on abort.
 */
export async function withLock<T>(
  file: string,
  work: () => Promise<T>,
  { onWait, signal }: { readonly onWait?: () => void; readonly signal?: AbortSignal | undefined } = {},
): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  for (let told = false; !take(file); told = true) {
    if (!told) onWait?.();
    signal?.throwIfAborted();
    if (isStale(file)) rmSync(file, { force: true });
    else await Bun.sleep(LOCK_BEAT_MS);
  }
  const beat = setInterval(() => touch(file), LOCK_BEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    rmSync(file, { force: true });
  }
}

function take(file: string): boolean {
  try {
    closeSync(openSync(file, "wx"));
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

function isStale(file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.mtimeMs > LOCK_STALE_MS;
}

function touch(file: string): void {
  try {
    const now = new Date();
    utimesSync(file, now, now);
  } catch {
    // another process considered it abandoned; see above
  }
}
