// Timer that unloads an idle model. Knows nothing of models.

import { TIMER_MS_MAX } from "../core/limits.ts";

export class IdleTimer {
  private readonly configuredMs: number | undefined;
  private readonly onIdle: (idleMs: number) => void;
  private idleMs: number | undefined;
  private isHeld = false;
  private isRunning = false;
  private endsAt: number | undefined; // monotonic milliseconds; undefined while stopped or without limit
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** `configured`: milliseconds, or undefined for no limit until one is set. */
  constructor(configured: number | undefined, onIdle: (idleMs: number) => void) {
    this.configuredMs = configured;
    this.idleMs = configured;
    this.onIdle = onIdle;
  }

  /** While held there is no limit, and none can be set; afterwards it is as configured. Restarts a running timer. */
  hold(isHeld: boolean): void {
    this.isHeld = isHeld;
    this.idleMs = isHeld ? undefined : this.configuredMs;
    if (this.isRunning) this.start();
  }

  /** Sets the limit, milliseconds; undefined: as configured, Infinity: none. Restarts a running timer. */
  set(idleMs: number | undefined): void {
    if (this.isHeld) return;
    const wanted = idleMs ?? this.configuredMs;
    this.idleMs = wanted === undefined || wanted > TIMER_MS_MAX ? undefined : wanted;
    if (this.isRunning) this.start();
  }

  /** Starts or restarts the timer. */
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

  /** Time left, milliseconds: the whole limit while stopped; undefined without limit. */
  get leftMs(): number | undefined {
    return this.endsAt === undefined ? this.idleMs : Math.max(0, this.endsAt - performance.now());
  }
}
