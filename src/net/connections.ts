// Counts open connections and connection attempts dropped by the kernel. The runtime reports neither, so open files and
// kernel counters are read. Linux; values are absent on other systems.

import { readdirSync, statSync } from "node:fs";
import { textIn } from "../core/readable.ts";

/** Time that a count of open files is cached, milliseconds. */
const COUNT_AGE_MS = 100;
/** Default share of the open-file limit for connections. */
const FILES_SHARE = 0.9;

/** Returns a check whether more than `max` connections are open; the default follows from the open-file limit. */
export function crowdCheck(
  max: number | undefined,
  now: () => number = () => performance.now(),
): () => boolean {
  const before = openFiles();
  const limit = max ?? Math.floor((openFilesMax() ?? Infinity) * FILES_SHARE) - before;
  let atMs = -Infinity;
  let isCrowded = false;
  return () => {
    const nowMs = now();
    if (nowMs - atMs < COUNT_AGE_MS) return isCrowded;
    atMs = nowMs;
    isCrowded = openFiles() - before > limit;
    return isCrowded;
  };
}

/** Open files of this process; 0 if unknown. */
function openFiles(): number {
  try {
    const { size } = statSync("/proc/self/fd"); // since Linux 6.2 the number of open files
    return size > 0 ? size : readdirSync("/proc/self/fd").length;
  } catch {
    return 0;
  }
}

/** Open-file limit of this process; undefined if unknown or unlimited. */
function openFilesMax(): number | undefined {
  const soft = /^Max open files\s+(\d+)/m.exec(textIn("/proc/self/limits"))?.[1];
  return soft === undefined ? undefined : Number(soft);
}

/**
 * Connection attempts that the kernel dropped because of full listen backlogs since the start of the machine (or container),
 * of all programs; undefined if unknown.
 */
export function droppedConnections(read: (path: string) => string = textIn): number | undefined {
  const [names = [], values = []] = read("/proc/net/netstat")
    .split("\n")
    .filter((line) => line.startsWith("TcpExt:"))
    .map((line) => line.split(" "));
  const value = values[names.indexOf("ListenOverflows")];
  return value === undefined ? undefined : Number(value);
}
