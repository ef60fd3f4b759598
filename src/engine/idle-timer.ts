// Counts down to the unloading of a model without requests. Knows nothing of models.

import { TIMER_MS_MAX } from "../core/limits.ts";

export class IdleTimer {
  private readonly configuredMs: number | undefined;
  private readonly onIdle: (idleMs: number) => void;
  private idleMs: number | undefined;
  private isRunning = false;
  private endsAt: number | undefined; // monotonic milliseconds; undefined while it does not run, and without end
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** `configuredMs`: undefined never ends. */
  constructor(configuredMs: number | undefined, onIdle: (idleMs: number) => void) {
    this.configuredMs = configuredMs;
    this.idleMs = configuredMs;
    this.onIdle = onIdle;
  }

  /** Sets the time, milliseconds; undefined: as configured, infinity: without end. A running timer starts anew. */
  set(idleMs: number | undefined): void {
    const wanted = idleMs ?? this.configuredMs;
    this.idleMs = wanted === undefined || wanted > TIMER_MS_MAX ? undefined : wanted;
    if (this.isRunning) this.start();
  }

  /** Counts from now on. */
  start(): void {
    this.stop();
    this.isRunning = true;
    const { idleMs } = this;
    if (idleMs === undefined) return;
    this.endsAt = performance.now() + idleMs;
    this.timer = setTimeout(() => this.onIdle(idleMs), idleMs);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.isRunning = false;
    this.endsAt = undefined;
  }

  /** Time left, milliseconds: the whole while it does not run; undefined: without end. */
  get leftMs(): number | undefined {
    return this.endsAt === undefined ? this.idleMs : Math.max(0, this.endsAt - performance.now());
  }
}
