// How many connections the process holds, and how many the kernel dropped before the process saw them. The runtime tells
// neither: open files are counted instead, and the kernel's own counters read. Linux; elsewhere what cannot be told is absent.

import { readdirSync, readFileSync, statSync } from "node:fs";

/** A count of open files is good for so long, milliseconds. */
const COUNT_AGE_MS = 100;
/** Of the files that a process may open, the share that connections may have where no setting says. */
const FILES_SHARE = 0.9;

/** Makes the check whether more connections are open than `max`; by default the limit of open files decides. */
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

/** Files that this process has open; 0 where the system does not say. */
function openFiles(): number {
  try {
    const { size } = statSync("/proc/self/fd"); // since Linux 6.2 their number
    return size > 0 ? size : readdirSync("/proc/self/fd").length;
  } catch {
    return 0;
  }
}

/** Files that this process may have open; undefined where the system does not say, or sets no limit. */
function openFilesMax(): number | undefined {
  const soft = /^Max open files\s+(\d+)/m.exec(textOf("/proc/self/limits"))?.[1];
  return soft === undefined ? undefined : Number(soft);
}

/**
 * Connection attempts that the kernel dropped since the machine's (or container's) start because a listening socket's
 * backlog was full, of all programs together; undefined where it does not say.
 */
export function droppedConnections(read: (path: string) => string = textOf): number | undefined {
  const [names = [], values = []] = read("/proc/net/netstat")
    .split("\n")
    .filter((line) => line.startsWith("TcpExt:"))
    .map((line) => line.split(" "));
  const value = values[names.indexOf("ListenOverflows")];
  return value === undefined ? undefined : Number(value);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
