// A sandboxed process and its descendants, from spawn to the exit of the last one.

import { ownUid } from "../core/private-folder.ts";
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, writeFileSync } from "node:fs";
import { Readable } from "node:stream";
import { assert } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import { SANDBOX_KILL_MS, SANDBOX_PIPES_MS } from "./limits.ts";
import { type Assignment, type Command, type Confinement, FD } from "./confinement.ts";
import type { ControlGroup } from "./control-groups.ts";
import { isAlive, type ProcessInfo, processes } from "./processes.ts";
import type { BrokenLimit, ConfinedProcess, Ending, Workdir } from "./types.ts";
import type { ToolPeers } from "./tool-peers.ts";
import type { Watch } from "./watch.ts";

/** Spawn request. */
export interface Start {
  readonly confinement: Confinement;
  readonly job: Assignment;
  readonly env: Readonly<Record<string, string>>;
  /** Measures the processes and kills them above their caps. */
  readonly watch?: Watch;
  /** Control group in which the kernel enforces the caps. */
  readonly group?: ControlGroup;
  /** Registry of running trees. */
  readonly peers?: ToolPeers;
}

/** Starts a job. Throws when it is refused or the process limit is reached. */
export function startConfined(start: Start): ConfinedProcess {
  start.watch?.admit(start.job.workdir);
  return new Confined(start);
}

/** Running trees by working directory. */
const running = new Map<Workdir, Set<Confined>>();

class Confined implements ConfinedProcess {
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly replies: Readable | undefined;
  readonly ended: Promise<Ending>;
  private readonly start: Start;
  private readonly child: ChildProcess;
  /** Process id of the network guard, which works for the tree. */
  private readonly guard: number | undefined;
  /** First process of the namespace, once reported. It outlives the command by a moment. */
  private inner: number | undefined;
  private readonly reported: Promise<void>;
  private limit: BrokenLimit | undefined;
  private killer: ReturnType<typeof setInterval> | undefined;
  /** Set at the end: the command's process id may be reused. */
  private isOver = false;

  constructor(start: Start) {
    this.start = start;
    const command = start.confinement.command(start.job);
    this.child = spawnCommand(start, command);
    this.guard = command.hasGuard === true ? this.child.pid : undefined;
    const { stdout, stderr, stdin, pid } = this.child;
    const stdio: readonly unknown[] = this.child.stdio; // its type has five entries
    assert(stdout !== null && stderr !== null, "both are pipes");
    this.stdout = stdout;
    this.stderr = stderr;
    this.replies = start.job.conversation === true ? readable(stdio[FD.replies]) : undefined;
    this.reported = this.readReport(readable(stdio[FD.report]));
    stdin?.on("error", () => {}); // the reader is gone; `ended` reports it
    if (pid !== undefined) preferForKilling(pid);
    const together = running.get(start.job.workdir) ?? new Set();
    running.set(start.job.workdir, together.add(this));
    this.ended = this.untilAllIsOver();
  }

  write(text: string): void {
    this.child.stdin?.write(text);
  }

  interrupt(): void {
    const { pid } = this.child;
    if (pid === undefined || this.isOver) return;
    const program = this.start.confinement.program(pid, this.members(processes()));
    if (program !== undefined) signal(program, "SIGINT");
  }

  kill(): void {
    if (this.isOver || this.killer !== undefined) return;
    this.killAll();
    this.killer = setInterval(() => this.killAll(), SANDBOX_KILL_MS); // processes that were being forked at that moment
  }

  endInput(): void {
    this.child.stdin?.end();
  }

  hasOthers(): boolean {
    const { pid: root } = this.child;
    if (root === undefined || this.isOver) return false;
    const { confinement } = this.start;
    const members = this.members(processes());
    const own = new Set([
      root,
      this.inner,
      confinement.program(root, members),
      ...confinement.wrappers(root, members),
    ]);
    return members.some(({ pid }) => !own.has(pid));
  }

  /** Processes of the tree. Strays count for the youngest tree of a working directory. */
  readonly members = (all: readonly ProcessInfo[]): readonly ProcessInfo[] => {
    const { confinement, job } = this.start;
    const own = this.ownMembers(all);
    const { isStray } = confinement;
    const together = [...(running.get(job.workdir) ?? [])];
    if (isStray === undefined || (together.length > 1 && together.at(-1) !== this)) return own;
    const others = new Set(
      together.flatMap((one) => (one === this ? [] : one.ownMembers(all))).map(({ pid }) => pid),
    );
    const strays = all.filter((info) => !others.has(info.pid) && isStray(info, job.workdir));
    return [...new Set([...own, ...strays])];
  };

  private ownMembers(all: readonly ProcessInfo[]): readonly ProcessInfo[] {
    const roots = [this.isOver ? undefined : this.child.pid, this.inner];
    const found = roots.flatMap((root) =>
      root === undefined ? [] : this.start.confinement.members(root)(all),
    );
    return [...new Set(found)];
  }

  private killAll(): void {
    const all = this.members(processes());
    const { pid: root } = this.child;
    const wrappers = root === undefined ? [] : this.start.confinement.wrappers(root, all);
    const inner = all.filter(({ pid }) => !wrappers.includes(pid));
    for (const { pid } of inner.length === 0 ? all : inner) signal(pid, "SIGKILL");
  }

  private async untilAllIsOver(): Promise<Ending> {
    const { watch, job, peers, group } = this.start;
    const kills = group?.memoryKills() ?? 0;
    const forget = peers?.add(this, job.workdir.uid ?? ownUid());
    const unwatch = watch?.add({
      members: this.members,
      workdir: job.workdir,
      ...defined({ group, guard: this.guard }),
      onBreach: (limit) => {
        this.limit = limit;
        this.kill();
      },
    });
    const ending = await exitOf(this.child);
    this.child.stdin?.destroy();
    closeSoon(this.child.stdio);
    await this.reported;
    // The command is gone; processes of its session or user are still found by its id.
    let pauseMs = 1; // most exit at once
    for (let left = this.left(); left.length > 0; left = this.left()) {
      for (const { pid } of left) signal(pid, "SIGKILL");
      await Bun.sleep(pauseMs);
      pauseMs = Math.min(2 * pauseMs, SANDBOX_KILL_MS);
    }
    this.isOver = true;
    const together = running.get(job.workdir);
    together?.delete(this);
    if (together?.size === 0) running.delete(job.workdir);
    forget?.();
    clearInterval(this.killer);
    await unwatch?.();
    if (group !== undefined && group.memoryKills() > kills) this.limit ??= "memory";
    return this.limit === undefined ? ending : { ...ending, limit: this.limit };
  }

  private left(): readonly ProcessInfo[] {
    // A namespace ends with its first process: no scan needed.
    if (this.inner !== undefined && !isAlive(this.inner)) return [];
    return this.members(processes());
  }

  private async readReport(report: Readable | undefined): Promise<void> {
    if (report === undefined) return;
    let told = "";
    try {
      for await (const chunk of report) told += String(chunk);
    } catch {
      return;
    }
    const id = /"child-pid": (\d+)/.exec(told)?.[1];
    if (id !== undefined) this.inner = Number(id);
  }
}

function spawnCommand({ job, env }: Start, { words, filter, hasReport, hasGuard }: Command): ChildProcess {
  const [program = "", ...args] = words;
  const pipe = job.conversation === true ? "pipe" : "ignore";
  try {
    return spawn(program, args, {
      // Not in the working directory: a program that reads settings from its folder would find files of the model.
      cwd: "/",
      env,
      stdio: [
        pipe,
        "pipe",
        "pipe",
        pipe,
        filter ?? "ignore",
        hasReport === true ? "pipe" : "ignore",
        hasGuard === true ? "pipe" : "ignore",
      ],
      detached: true, // leader of a new session
    });
  } finally {
    if (filter !== undefined) closeSync(filter);
  }
}

function readable(stream: unknown): Readable | undefined {
  return stream instanceof Readable ? stream : undefined;
}

function exitOf(child: ChildProcess): Promise<Ending> {
  return new Promise((resolve) => {
    child.once("error", () => resolve({ code: 127 }));
    child.once("exit", (code, name) => resolve(code === null ? { signal: name ?? "SIGKILL" } : { code }));
  });
}

/** Closes pipes that an escaped process may hold open. */
function closeSoon(streams: readonly unknown[]): void {
  const close = (): void => {
    for (const stream of streams) readable(stream)?.destroy();
  };
  setTimeout(close, SANDBOX_PIPES_MS).unref();
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // it has exited
  }
}

/** Makes the kernel's OOM killer prefer tools to the server. */
function preferForKilling(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, "800");
  } catch {
    // no such file on this system, or the process is gone
  }
}
