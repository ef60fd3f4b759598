// Notices an engine process that has stopped answering. It is asked at intervals whether it still reads its mail, which
// it does between any two steps. Intervals are counted, not time: while this process itself stands still, after Ctrl-Z or
// on a machine that sleeps, nothing counts against the engine. Knows nothing of requests.

import { readFileSync } from "node:fs";
import { ENGINE_BUSY_TIMEOUTS, ENGINE_PING_MS_MAX, ENGINE_PINGS } from "./limits.ts";

/** What a process does, as far as it can be seen from outside. */
export interface Activity {
  /** Processor time it has used, clock ticks of the system. */
  readonly cpuTicks: number;
  /** It waits for a disk or a file server and cannot even be killed. */
  readonly waitsForDisk: boolean;
}

export interface EngineWatchDeps {
  /** Time after which a process that neither answers nor uses the processor is taken for hung, milliseconds. */
  readonly timeoutMs: number;
  /** Asks it for a sign of life, which comes as any message. */
  readonly ping: () => void;
  /** Undefined where the system does not tell. */
  readonly activity: () => Activity | undefined;
  /** Called once; the watch has ended. */
  readonly onHung: (why: string) => void;
}

export class EngineWatch {
  private readonly deps: EngineWatchDeps;
  private readonly timer: ReturnType<typeof setInterval>;
  private readonly intervalMs: number;
  private silent = 0; // intervals without a sign of life
  private still = 0; // those of them, the latest, in which it did nothing at all
  private lastTicks: number | undefined;

  constructor(deps: EngineWatchDeps) {
    this.deps = deps;
    this.intervalMs = Math.min(deps.timeoutMs / ENGINE_PINGS, ENGINE_PING_MS_MAX);
    this.timer = setInterval(() => this.look(), this.intervalMs);
    deps.ping();
  }

  /** A message has come. */
  heard(): void {
    this.silent = 0;
    this.still = 0;
    this.lastTicks = undefined;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    const { timeoutMs, ping, activity, onHung } = this.deps;
    if (this.silent === 0) ping(); // at most one is on its way
    this.silent++;
    const now = activity();
    const isStill = now !== undefined && !now.waitsForDisk && now.cpuTicks === this.lastTicks;
    this.still = isStill ? this.still + 1 : 0;
    this.lastTicks = now?.cpuTicks;
    const secs = (intervals: number): number => Math.round((intervals * this.intervalMs) / 100) / 10;
    if (this.still * this.intervalMs >= timeoutMs) {
      this.stop();
      onHung(`it has neither answered nor used the processor for ${secs(this.still)} s`);
    } else if (this.silent * this.intervalMs >= timeoutMs * ENGINE_BUSY_TIMEOUTS) {
      this.stop();
      onHung(`it has not answered for ${secs(this.silent)} s`);
    }
  }
}

/** Looks at a process by Linux's /proc; undefined on other systems, and once it has gone. */
export function activityOf(pid: number): Activity | undefined {
  try {
    // proc_pid_stat(5): pid (name) state …, utime and stime are fields 14 and 15; the name may hold anything.
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [state, ...rest] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { cpuTicks: Number(rest[10]) + Number(rest[11]), waitsForDisk: state === "D" };
  } catch {
    return undefined;
  }
}
