// When an engine's next process is started: after a delay that doubles with each end of a process, or, after several ends during
// loading, when a request asks for it. Knows nothing of processes.

import { ENGINE_LOAD_DEATHS_MAX, ENGINE_RESTART_MS, ENGINE_RESTART_MS_MAX } from "./limits.ts";

/** After this uptime, the delay is reset, milliseconds. */
const HEALTHY_MS = 60_000;

export class Restarts {
  private readonly start: () => void;
  private delayMs = ENGINE_RESTART_MS;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private startedAt = 0;
  private loadDeaths = 0; // processes in a row that ended before the model was loaded
  private isGivenUp = false; // none is scheduled; the next request may cause one

  /** `start`: starts a process. */
  constructor(start: () => void) {
    this.start = start;
  }

  /** A process has been started. */
  started(): void {
    this.startedAt = performance.now();
    this.isGivenUp = false;
  }

  /** Its model is loaded. */
  loaded(): void {
    this.loadDeaths = 0;
  }

  /** It has ended, or is about to, before its model was loaded. */
  diedLoading(): void {
    this.loadDeaths++;
  }

  /** It has ended after its model was loaded. */
  diedLoaded(): void {
    if (performance.now() - this.startedAt > HEALTHY_MS) this.delayMs = ENGINE_RESTART_MS;
  }

  /** Schedules the next start; false where it waits for a request. */
  schedule(): boolean {
    this.isGivenUp = this.loadDeaths >= ENGINE_LOAD_DEATHS_MAX;
    if (this.isGivenUp) return false;
    this.timer = setTimeout(this.start, this.delayMs);
    this.delayMs = Math.min(this.delayMs * 2, ENGINE_RESTART_MS_MAX);
    return true;
  }

  /** A request needs a process: starts one if none is scheduled and the last start was a while ago. */
  requested(): void {
    if (this.isGivenUp && performance.now() - this.startedAt > ENGINE_RESTART_MS_MAX) this.start();
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
