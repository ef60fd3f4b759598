// Lock file that keeps two processes from downloading the same content. It names machine and process of its holder, who touches
// it periodically. A lock whose process is gone, or which is old, belongs to one that was killed.
//
// Two holders at once, after a suspended machine wakes or in containers that share a name, are harmless: both write the same
// bytes to the same file, which is verified before it gets its name. Bun has no flock, and the npm packages for locks are
// unmaintained.

import { mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { codeOf } from "../core/reason.ts";
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
    if (isAbandoned(file)) rmSync(file, { force: true });
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
    writeFileSync(file, `${hostname()} ${process.pid}`, { flag: "wx" });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

function isAbandoned(file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return false;
  return Date.now() - stat.mtimeMs > LOCK_STALE_MS || isOfDeadProcess(file);
}

function isOfDeadProcess(file: string): boolean {
  try {
    const [, host, pid] = /^(.+) (\d+)$/.exec(readFileSync(file, "utf8")) ?? [];
    if (host !== hostname()) return false;
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return codeOf(error) === "ESRCH";
  }
}

function touch(file: string): void {
  try {
    const now = new Date();
    utimesSync(file, now, now);
  } catch {
    // another process considered it abandoned; see above
  }
}
