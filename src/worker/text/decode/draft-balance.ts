// Whether a draft model pays: milliseconds that accepted draft tokens saved, less those that the model took, prompts included. A
// trial that failed is repeated when the engine has worked long enough since. Knows nothing of single drafts.

import type { DraftModel } from "../backend.ts";

/** Weight of what was saved and taken until a step, after the next one. */
const MEMORY = 1 - 1 / 512;

/** A failed trial took at most this share of the engine's time until the next one. */
const TRIAL_SHARE = 0.02;

export class DraftBalance {
  private readonly model: DraftModel | undefined;
  /** Saved less taken, the past fading. */
  private recentMs = 0;
  /** The same since it follows, without fading. */
  private trialMs = 0;
  /** Of the last trial. */
  private lostMs = 0;
  private makingMs = 0;
  /** Time of steps since it began or paused. */
  private workedMs = 0;

  constructor(model: DraftModel | undefined) {
    this.model = model;
  }

  /** Making drafts for the step under way took `ms`, which are no part of its pass. */
  made(ms: number): void {
    this.makingMs = ms;
  }

  /** A step took `ms`; returns how many of them without following and without what making its drafts took. */
  stepped(ms: number): number {
    const followMs = this.model?.takeMs() ?? 0;
    const { makingMs } = this;
    this.makingMs = 0;
    this.workedMs += ms;
    this.recentMs *= MEMORY;
    this.add(-followMs);
    return ms - followMs - makingMs;
  }

  /** Draft tokens saved, or with a negative value took, that many milliseconds. */
  add(ms: number): void {
    this.recentMs += ms;
    this.trialMs += ms;
  }

  /** It has taken more than it saved. */
  get isLoss(): boolean {
    return this.recentMs < 0;
  }

  paused(): void {
    this.lostMs = Math.max(0, -this.trialMs);
    this.workedMs = 0;
  }

  resumed(): void {
    this.recentMs = 0;
    this.trialMs = 0;
    this.workedMs = 0;
  }

  /** Whether a trial that fails like the last one is a small share of the engine's time. */
  get mayTry(): boolean {
    return this.lostMs <= TRIAL_SHARE * this.workedMs;
  }
}
