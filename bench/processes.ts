// Processes under measurement: start, stop, memory and CPU time of a process tree from Linux's /proc. Also the CPU time of the
// whole machine, from which that of other processes follows.

import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Subprocess } from "bun";

const STOP_MS_MAX = 10_000;
// USER_HZ, which Linux fixes for all of /proc.
const TICKS_PER_SECOND = 100;
// Process-wide because the signal handler that needs it is.
const RUNNING = new Set<Subprocess>();

/** Memory of a process tree in bytes. */
export interface TreeMemory {
  /** Sum of the processes' resident sets; pages that several of them map count several times. */
  readonly rssBytes: number;
  /** Sum of proportional sets: a page mapped by two processes counts half for each. */
  readonly pssBytes: number;
}

/** Starts a process with its output in a file: needs no reader and keeps the terminal clean. */
export function spawnLogged(
  command: readonly string[],
  logPath: string,
  env: Record<string, string>,
): Subprocess {
  const [program] = command;
  if (program === undefined || !existsSync(program))
    throw new Error(`${program} was not found; build it first`);
  mkdirSync(dirname(logPath), { recursive: true });
  const log = openSync(logPath, "w");
  try {
    const child = Bun.spawn([...command], {
      cwd: dirname(logPath),
      env: { ...process.env, ...env },
      stdin: "ignore",
      stdout: log,
      stderr: log,
    });
    RUNNING.add(child);
    void child.exited.then(() => RUNNING.delete(child));
    return child;
  } finally {
    closeSync(log); // the child has its own copy
  }
}

/** Stops a child with SIGTERM, with SIGKILL after 10 seconds; then kills its remaining descendants. */
export async function stopTree(child: Subprocess): Promise<void> {
  const tree = processTree(child.pid);
  child.kill("SIGTERM");
  const ended = await Promise.race([child.exited, Bun.sleep(STOP_MS_MAX)]);
  if (ended === undefined) console.error(`bench: process ${child.pid} ignored SIGTERM for ${STOP_MS_MAX} ms`);
  for (const pid of tree) killIfThere(pid);
  await child.exited;
}

/** Kills a child and its descendants, and waits for the child. */
export async function killTree(child: Subprocess): Promise<void> {
  for (const pid of processTree(child.pid)) killIfThere(pid);
  await child.exited;
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}

/** Kills all running processes without waiting, when the bench itself is interrupted. */
export function killRunning(): void {
  for (const child of RUNNING) for (const pid of processTree(child.pid)) killIfThere(pid);
}

/** The process and its living descendants. */
export function processTree(rootPid: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    const parent = Number.isInteger(pid) ? parentOf(pid) : undefined;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const tree = [rootPid];
  // The list grows while it is walked: each process appends its children.
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

/** Memory of the process and all its descendants. */
export function treeMemory(rootPid: number): TreeMemory {
  let rssBytes = 0;
  let pssBytes = 0;
  for (const pid of processTree(rootPid)) {
    rssBytes += kibibytes(`/proc/${pid}/status`, "VmRSS") * 1024;
    pssBytes += kibibytes(`/proc/${pid}/smaps_rollup`, "Pss") * 1024;
  }
  return { rssBytes, pssBytes };
}

/** CPU seconds of the process and its living descendants, with the children that they have reaped. */
export function treeCpuSeconds(rootPid: number): number {
  // proc(5): utime, stime, cutime, cstime are fields 14 to 17.
  return processTree(rootPid).reduce(
    (sum, pid) => sum + total(statFields(pid)?.slice(11, 15)) / TICKS_PER_SECOND,
    0,
  );
}

/** Busy CPU seconds of all cores since boot, with stolen time. */
export function machineBusySeconds(): number {
  // proc(5): cpu user nice system idle iowait irq softirq steal guest guest_nice; guests are part of user already.
  const fields = readIfThere("/proc/stat")?.split("\n", 1)[0]?.split(/\s+/) ?? [];
  return (total(fields.slice(1, 4)) + total(fields.slice(6, 9))) / TICKS_PER_SECOND;
}

function total(words: readonly string[] | undefined): number {
  return (words ?? []).reduce((sum, word) => sum + Number(word), 0);
}

function parentOf(pid: number): number | undefined {
  const parent = statFields(pid)?.[1];
  return parent === undefined ? undefined : Number(parent);
}

/** Fields of /proc/PID/stat from the third (state) on; the second is a name that may contain spaces and parentheses. */
function statFields(pid: number): string[] | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function kibibytes(path: string, key: string): number {
  const match = new RegExp(`^${key}:\\s+(\\d+) kB`, "m").exec(readIfThere(path) ?? "");
  return Number(match?.[1] ?? 0);
}

/** Undefined for a process that has ended meanwhile. */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
