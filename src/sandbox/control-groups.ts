// Caps by cgroup v2: one control group for each private working directory, and for each process tree in a shared one. The
// kernel caps memory (socket buffers and kernel memory included) and processes of a group, and counts its processor time.
// Rejected: systemd-run --user for each call (30 ms, and tools fail once the user logs out); controllers of version 1.

import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { controlGroupBase, controllersOf, groupOf } from "../core/control-groups.ts";
import { codeOf } from "../core/reason.ts";
import { CONTROL_GROUP_TASKS, CONTROL_GROUP_WEIGHT, SANDBOX_KILL_MS, SANDBOX_PROBE_MS } from "./limits.ts";
import { HOLD } from "./session-networks.ts";
import type { Limits, Workdir } from "./types.ts";

const MIB = 1024 * 1024;
/** Child for the processes of the base: a group whose children have controllers may contain no processes. */
const SERVER_GROUP = "svc-server";
const TOOLS_PREFIX = "svc-tools-";
const ENABLE_ATTEMPTS = 10;
const REMOVE_ATTEMPTS = 250;

/** Control group of a working directory or tree. */
export class ControlGroup {
  private readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Command prefix that enters the group. */
  get enterWords(): readonly string[] {
    return ["/bin/sh", "-c", 'echo 0 >"$0" && exec "$@"', join(this.path, "cgroup.procs")];
  }

  /** Processor time of all its processes, exited ones included. */
  cpuSecs(): number {
    return this.counter("cpu.stat", "usage_usec") / 1e6;
  }

  /** Number of processes that the kernel killed for the cap on memory. */
  memoryKills(): number {
    return this.counter("memory.events", "oom_kill");
  }

  /** Kills its processes and deletes it. */
  async remove(): Promise<void> {
    for (let n = 0; n < REMOVE_ATTEMPTS; n++) {
      write(this.path, "cgroup.kill", "1");
      if (removeFolder(this.path)) return;
      await Bun.sleep(SANDBOX_KILL_MS);
    }
  }

  private counter(file: string, name: string): number {
    try {
      const text = readFileSync(join(this.path, file), "latin1");
      return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
    } catch {
      return 0;
    }
  }
}

/** Number of groups that this process created. */
let count = 0;

/** Creates groups with the same caps below one base. */
export class ControlGroups {
  private readonly base: string;
  private readonly limits: Limits;
  private readonly groups = new Map<Workdir, ControlGroup>();

  private constructor(base: string, limits: Limits) {
    this.base = base;
    this.limits = limits;
  }

  /** Undefined where groups cannot be created. */
  static async open(limits: Limits): Promise<ControlGroups | undefined> {
    const base = await (preparedBase ??= prepareBase());
    if (base === undefined) return undefined;
    const groups = new ControlGroups(base, limits);
    const trial = groups.make();
    await trial?.remove();
    return trial === undefined ? undefined : groups;
  }

  /** Group of a private folder, or a new one for a tree in a shared folder. Undefined where it cannot be created. */
  enter(workdir: Workdir): ControlGroup | undefined {
    const found = this.groups.get(workdir);
    if (found !== undefined) return found;
    const group = this.make();
    if (group !== undefined && workdir.isPrivate) this.groups.set(workdir, group);
    return group;
  }

  /** Removes the group of a finished tree; the group of a private folder stays. */
  async leave(workdir: Workdir, group: ControlGroup): Promise<void> {
    if (!workdir.isPrivate) await group.remove();
  }

  /** Removes the group of a deleted folder. */
  async removeGroupOf(workdir: Workdir): Promise<void> {
    const group = this.groups.get(workdir);
    this.groups.delete(workdir);
    await group?.remove();
  }

  private make(): ControlGroup | undefined {
    const path = join(this.base, `${TOOLS_PREFIX}${process.pid}-${++count}`);
    const { memoryMb, procs } = this.limits;
    try {
      mkdirSync(path);
    } catch {
      return undefined;
    }
    write(path, "memory.swap.max", "0"); // absent on a kernel without swap
    write(path, "cpu.weight", String(CONTROL_GROUP_WEIGHT)); // absent without the controller
    const hasCaps =
      write(path, "memory.max", String(memoryMb * MIB)) &&
      write(path, "memory.oom.group", "1") &&
      write(path, "pids.max", String(procs + CONTROL_GROUP_TASKS));
    if (hasCaps) return new ControlGroup(path);
    removeFolder(path);
    return undefined;
  }
}

/** Prepared once, because it moves this process to another group. */
let preparedBase: Promise<string | undefined> | undefined;

async function prepareBase(): Promise<string | undefined> {
  const found = controlGroupBase();
  if (found.kind === "none") return undefined;
  const base = found.kind === "own" ? found.path : await openScope();
  if (base === undefined || !enableControllers(base)) return undefined;
  removeStale(base);
  return base;
}

/** Moves the processes of the base into a child, then enables controllers for children. */
function enableControllers(base: string): boolean {
  const wanted = ["memory", "pids", "cpu"].filter((name) => controllersOf(base).includes(name));
  const text = wanted.map((name) => `+${name}`).join(" ");
  for (let n = 0; n < ENABLE_ATTEMPTS; n++) {
    if (write(base, "cgroup.subtree_control", text)) return true;
    try {
      mkdirSync(join(base, SERVER_GROUP), { recursive: true });
      const pids = readFileSync(join(base, "cgroup.procs"), "latin1").split("\n");
      for (const pid of pids) if (pid !== "") write(join(base, SERVER_GROUP), "cgroup.procs", pid);
    } catch {
      return false;
    }
  }
  return false;
}

/** Deletes empty groups of servers that were killed. */
function removeStale(base: string): void {
  for (const name of readdirSync(base)) {
    const pid = new RegExp(`^${TOOLS_PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid === undefined || Number(pid) === process.pid) continue;
    if (groupOf(Number(pid)) === undefined) removeFolder(join(base, name));
  }
}

/** Requests a delegated scope from systemd, which lasts as long as this server. */
async function openScope(): Promise<string | undefined> {
  const options = ["--scope", "--quiet", "--collect", "--property=Delegate=yes"];
  const words = ["systemd-run", ...options, `--description=Tools of svc ${process.pid}`, ...HOLD];
  const [program = "", ...args] = words;
  const child = spawn(program, args, { cwd: "/", stdio: ["pipe", "pipe", "ignore"] });
  child.stdin.on("error", () => {});
  const timer = setTimeout(() => child.kill("SIGKILL"), SANDBOX_PROBE_MS);
  const pid = await new Promise<number | undefined>((resolve) => {
    child.stdout.once("data", (line: Buffer) => resolve(Number(String(line))));
    child.once("error", () => resolve(undefined));
    child.once("exit", () => resolve(undefined));
  });
  clearTimeout(timer);
  if (pid === undefined) return undefined;
  child.unref();
  child.stdout.destroy();
  return groupOf(pid);
}

function write(folder: string, file: string, text: string): boolean {
  try {
    writeFileSync(join(folder, file), text);
    return true;
  } catch {
    return false;
  }
}

/** False while the group has processes. */
function removeFolder(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    return codeOf(error) === "ENOENT";
  }
}
