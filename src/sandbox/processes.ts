// Process table from Linux's /proc; empty on other systems.

import { readFileSync } from "node:fs";
import { namesIn } from "../core/readable.ts";

/** A process at one moment. */
export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  /** Id of its session, setsid(2). */
  readonly session: number;
  /** Processor time of the process and of children that it waited for, seconds. */
  readonly cpuSecs: number;
  readonly threads: number;
  /** Clock ticks between the machine's start and the process's. */
  readonly startedAt: number;
  readonly residentBytes: number;
}

const TICKS_PER_SECOND = 100; // USER_HZ, fixed for programs

let pageBytesFound: number | undefined;

/** From the auxiliary vector, getauxval(3): pairs of 64-bit numbers, of which type 6 is the page size. */
function pageBytes(): number {
  if (pageBytesFound !== undefined) return pageBytesFound;
  const vector = readFileSync("/proc/self/auxv");
  const entries = Array.from({ length: Math.floor(vector.length / 16) }, (_, index) => index * 16);
  const entry = entries.find((offset) => vector.readBigUInt64LE(offset) === 6n);
  return (pageBytesFound = entry === undefined ? 4096 : Number(vector.readBigUInt64LE(entry + 8)));
}

/** All living processes. */
export function processes(): readonly ProcessInfo[] {
  return ids().flatMap((pid) => processInfo(pid) ?? []);
}

function ids(): readonly number[] {
  return namesIn("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

/** Links to the open files of a process, as paths. */
export function openFiles(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  return namesIn(folder).map((name) => `${folder}/${name}`);
}

/** Undefined once the process has exited, also as a zombie. */
function processInfo(pid: number): ProcessInfo | undefined {
  try {
    // proc_pid_stat(5): pid (name) state ppid pgrp session …; the name may hold anything, brackets included.
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const at = (field: number): number => Number(fields[field - 3]);
    if (fields[0] === "Z" || fields[0] === "X") return undefined;
    return {
      pid,
      parent: at(4),
      session: at(6),
      cpuSecs: (at(14) + at(15) + at(16) + at(17)) / TICKS_PER_SECOND,
      threads: at(20),
      startedAt: at(22),
      residentBytes: at(24) * pageBytes(),
    };
  } catch {
    return undefined;
  }
}

/** False once a process has exited, also as a zombie. */
export function isAlive(pid: number): boolean {
  return processInfo(pid) !== undefined;
}

/** `root` and its descendants, without orphans. */
export function treeOf(root: number, all: readonly ProcessInfo[]): readonly ProcessInfo[] {
  const children = Map.groupBy(all, ({ parent }) => parent);
  const found = all.filter(({ pid }) => pid === root);
  for (const { pid } of found) found.push(...(children.get(pid) ?? []));
  return found;
}

/** User of a process; undefined once it has exited. */
export function uidOf(pid: number): number | undefined {
  // Not the owner of /proc/PID: a process can change that to root.
  const uid = field(`/proc/${pid}/status`, /^Uid:\s+(\d+)/m);
  return uid === undefined ? undefined : Number(uid);
}

/** Processes and threads of a user as the kernel counts them, zombies included. */
export function tasksOf(uid: number): number {
  const own = ids().filter((pid) => uidOf(pid) === uid);
  return own.reduce((sum, pid) => sum + (processInfo(pid)?.threads ?? 1), 0);
}

/** Proportional set size of a process, bytes; undefined where it cannot be read. */
export function proportionalBytes(pid: number): number | undefined {
  const kib = field(`/proc/${pid}/smaps_rollup`, /^Pss:\s+(\d+) kB$/m);
  return kib === undefined ? undefined : Number(kib) * 1024;
}

function field(file: string, pattern: RegExp): string | undefined {
  try {
    return pattern.exec(readFileSync(file, "latin1"))?.[1];
  } catch {
    return undefined;
  }
}
