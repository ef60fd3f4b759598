// Watchdog of an engine process: pings it at intervals, which it answers between two steps. Counts intervals instead of
// time, and leaves out those in which the machine stood: a pause (Ctrl-Z, suspend, a halted virtual machine) does not count against
// the engine. Knows nothing of requests.
// An engine that is silent and uses no processor time is hung; one that computes may take minutes for a step.

import { readdirSync, readFileSync } from "node:fs";
import { textIn } from "../core/readable.ts";
import type { EngineLink } from "./host.ts";
import { ENGINE_BUSY_TIMEOUTS, ENGINE_PING_MS_MAX, ENGINE_PINGS } from "./limits.ts";

/** A process's activity, seen from outside. */
export interface Activity {
  /** Processor time used, clock ticks of the system. */
  readonly cpuTicks: number;
  /** It could go on: a thread waits for a processor, a disk or a file server. A starved process does not hang. */
  readonly isHeldUp: boolean;
}

/** Clocks of the machine, milliseconds. */
export interface MachineTime {
  /** CLOCK_BOOTTIME: goes on while the machine is suspended. */
  readonly bootMs: number;
  /** Time that the host gave to other machines, mean of the processors. */
  readonly stolenMs: number;
}

export interface EngineWatchDeps {
  /** Time without answer and without processor time after which a process counts as hung, milliseconds. */
  readonly timeoutMs: number;
  /** Sends a ping; any message counts as its answer. */
  readonly ping: () => void;
  /** undefined where the system does not provide it. */
  readonly activity: () => Activity | undefined;
  readonly machine: () => MachineTime;
  /** Called once; the watchdog has stopped. */
  readonly onHung: (why: string) => void;
}

export class EngineWatch {
  private readonly deps: EngineWatchDeps;
  private readonly timer: ReturnType<typeof setInterval>;
  private readonly intervalMs: number;
  private silent = 0; // intervals without a message
  private idle = 0; // latest intervals among them without processor time
  private lastTicks: number | undefined;
  private lastLook: MachineTime;

  constructor(deps: EngineWatchDeps) {
    this.deps = deps;
    this.intervalMs = Math.min(deps.timeoutMs / ENGINE_PINGS, ENGINE_PING_MS_MAX);
    this.lastLook = deps.machine();
    this.timer = setInterval(() => this.check(), this.intervalMs);
    deps.ping();
  }

  /** A message has arrived. */
  heard(): void {
    this.silent = 0;
    this.idle = 0;
    this.lastTicks = undefined;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private check(): void {
    const { timeoutMs, ping, activity, onHung } = this.deps;
    if (this.silent === 0) ping(); // at most one is open
    this.silent++;
    const now = activity();
    const hasStood = this.hasStood();
    const isIdle = now !== undefined && !now.isHeldUp && !hasStood && now.cpuTicks === this.lastTicks;
    this.idle = isIdle ? this.idle + 1 : 0;
    this.lastTicks = now?.cpuTicks;
    const secs = (intervals: number): number => Math.round((intervals * this.intervalMs) / 100) / 10;
    if (this.idle * this.intervalMs >= timeoutMs) {
      this.stop();
      onHung(`no answer and no processor time for ${secs(this.idle)} s`);
    } else if (this.silent * this.intervalMs >= timeoutMs * ENGINE_BUSY_TIMEOUTS) {
      this.stop();
      onHung(`no answer for ${secs(this.silent)} s`);
    }
  }

  /** Whether the machine stood for most of the time since the last look, or this process did: the engine could not go on either. */
  private hasStood(): boolean {
    const last = this.lastLook;
    this.lastLook = this.deps.machine();
    const passedMs = this.lastLook.bootMs - last.bootMs;
    return passedMs > 2 * this.intervalMs || this.lastLook.stolenMs - last.stolenMs > passedMs / 2;
  }
}

/** Watches the process behind a link. */
export function watchProcess(
  link: EngineLink,
  timeoutMs: number,
  onHung: EngineWatchDeps["onHung"],
): EngineWatch {
  return new EngineWatch({
    timeoutMs,
    ping: () => link.send({ type: "ping" }),
    activity: () => activityOf(link.pid),
    machine: machineTime,
    onHung,
  });
}

/** The machine's clocks from Linux's /proc; on other systems this process's own clock. */
export function machineTime(): MachineTime {
  const [bootSecs] = textIn("/proc/uptime").split(" ");
  const stat = textIn("/proc/stat");
  const processors = stat.match(/^cpu\d/gm)?.length ?? 1;
  const stolenTicks = Number(/^cpu +(?:\d+ +){7}(\d+)/.exec(stat)?.[1] ?? 0); // proc_stat(5): steal
  return {
    bootMs: bootSecs ? Number(bootSecs) * 1000 : performance.now(),
    stolenMs: (stolenTicks * TICK_MS) / processors,
  };
}

/** Of /proc/stat, which counts in USER_HZ: 100 on every platform of Linux that svc runs on. */
const TICK_MS = 10;

/** A process's activity from Linux's /proc; undefined on other systems and for processes that have ended. */
export function activityOf(pid: number): Activity | undefined {
  try {
    const { fields } = statOf(`/proc/${pid}`);
    const cpuTicks = Number(fields[10]) + Number(fields[11]); // utime and stime
    return { cpuTicks, isHeldUp: threadsOf(pid).some(({ state }) => state === "R" || state === "D") };
  } catch {
    return undefined;
  }
}

/** What the threads of a process wait for and how scarce processors are, in a line for the log; empty on other systems. */
export function waitsOf(pid: number): string {
  try {
    const waits = threadsOf(pid).map(
      ({ folder, name, state }) => `${name} ${state} ${textIn(`${folder}/wchan`)}`, // function of the kernel that it sleeps in
    );
    const counts = [...Map.groupBy(waits, (wait) => wait)].map(([wait, { length }]) => `${length} × ${wait}`);
    const pressure = (of: string): string =>
      /^some .*(?= total)/.exec(textIn(`/proc/pressure/${of}`))?.[0] ?? "unknown";
    return `threads: ${counts.join(", ")}; pressure on processors: ${pressure("cpu")}; on disks: ${pressure("io")}`;
  } catch {
    return "";
  }
}

interface Thread {
  readonly folder: string;
  readonly name: string;
  readonly state: string;
}

function threadsOf(pid: number): readonly Thread[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const folder = `/proc/${pid}/task/${task}`;
    try {
      const { name, state } = statOf(folder);
      return [{ folder, name, state }];
    } catch {
      return []; // it has ended meanwhile
    }
  });
}

/** proc_pid_stat(5): pid (name) state …; the name may hold anything. `fields` begin behind the state. */
function statOf(folder: string): {
  readonly name: string;
  readonly state: string;
  readonly fields: string[];
} {
  const text = readFileSync(`${folder}/stat`, "latin1");
  const end = text.lastIndexOf(")");
  const [state = "", ...fields] = text.slice(end + 2).split(" ");
  return { name: text.slice(text.indexOf("(") + 1, end), state, fields };
}
