// Looks at processes from outside, by Linux's /proc.

import { readdirSync, readFileSync } from "node:fs";

interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  /** R running, S sleeping, T stopped, Z ended and not yet collected … */
  readonly state: string;
}

function processInfo(pid: number): ProcessInfo | undefined {
  try {
    // proc_pid_stat(5): pid (name) state ppid …; the name may hold anything, brackets included.
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state = "", parent = ""] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { pid, state, parent: Number(parent) };
  } catch {
    return undefined; // it is gone
  }
}

/** Processes that `pid` has started and that still run. */
export function childrenOf(pid: number): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => processInfo(Number(name)))
    .filter((info) => info !== undefined)
    .filter(({ parent, state }) => parent === pid && state !== "Z")
    .map((info) => info.pid);
}

/** The same with what those have started. */
export function descendantsOf(pid: number): readonly number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

/** False once a process has ended, collected by its parent or not. */
export function isAlive(pid: number): boolean {
  const info = processInfo(pid);
  return info !== undefined && info.state !== "Z";
}

/** The words a process was started with. */
export function wordsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
  } catch {
    return [];
  }
}

/** Memory that a process and all it has started hold, bytes; shared pages count for each. */
export function treeRssBytes(pid: number): number {
  return [pid, ...descendantsOf(pid)].reduce((sum, one) => sum + rssBytes(one), 0);
}

function rssBytes(pid: number): number {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return Number(kilobytes ?? 0) * 1024;
  } catch {
    return 0; // it is gone
  }
}
