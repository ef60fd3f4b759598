// Circuit breaker of an upstream: closed while healthy, open during a cooldown, half-open for one trial after it.

import { FAILURES_MAX } from "./limits.ts";
import type { Verdict } from "./failure.ts";

export interface HealthOptions {
  readonly cooldownMs: number;
  readonly now: () => number;
  readonly log: (line: string) => void;
}

export class Health {
  /** Why it gets no requests; undefined while it does. */
  problem: string | undefined;
  /** The last failure, also one without a cooldown. */
  lastFailure: { readonly problem: string; readonly atSecs: number } | undefined;
  /** Cooldowns begun. */
  cooldowns = 0;
  private readonly options: HealthOptions;
  private failures = 0; // in a row
  private coolUntil: number | undefined;
  private busyUntil = 0;
  private isTried = false; // a trial is under way

  constructor(options: HealthOptions) {
    this.options = options;
  }

  get isCooling(): boolean {
    return this.coolUntil !== undefined;
  }

  /** It may have a request, as far as its health goes. */
  get isAvailable(): boolean {
    const now = this.options.now();
    if (this.coolUntil !== undefined && (now < this.coolUntil || this.isTried)) return false;
    return now >= this.busyUntil;
  }

  /** Healthy, but it reported that it accepts no more requests for now. */
  get isBusy(): boolean {
    return this.coolUntil === undefined && this.options.now() < this.busyUntil;
  }

  /** Milliseconds until it may have a request; 0 where it may. */
  get waitMs(): number {
    return Math.max(0, (this.coolUntil ?? 0) - this.options.now(), this.busyUntil - this.options.now());
  }

  /** A request or a probe goes out; during half-open it is the trial. */
  begin(): void {
    if (this.coolUntil !== undefined) this.isTried = true;
  }

  /** A request ended without a verdict: its client left. */
  end(): void {
    this.isTried = false;
  }

  take(verdict: Verdict): void {
    this.isTried = false;
    const { now, cooldownMs, log } = this.options;
    switch (verdict.type) {
      case "well":
        if (this.coolUntil !== undefined) log("it answers again");
        this.failures = 0;
        this.coolUntil = undefined;
        this.problem = undefined;
        return;
      case "busy":
        this.busyUntil = now() + verdict.ms;
        return;
      case "failed": {
        this.failures++;
        this.lastFailure = { problem: verdict.problem, atSecs: Math.floor(Date.now() / 1000) };
        const isTrial = this.coolUntil !== undefined;
        if (!verdict.isCertain && !isTrial && this.failures < FAILURES_MAX) return;
        if (!isTrial || this.problem !== verdict.problem)
          log(`${verdict.problem}; no requests for ${cooldownMs / 1000} s`);
        if (!isTrial) this.cooldowns++;
        this.coolUntil = now() + cooldownMs;
        this.problem = verdict.problem;
        return;
      }
    }
  }
}
