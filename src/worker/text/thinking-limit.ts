// Ends a choice's reasoning at its budget, or where the rest of the token cap is just enough for an answer: a closing sentence and the
// format's end tag follow as given tokens. Decides when; `runs.ts` gives the tokens. Never within a call or a tag that has begun.

import type { AnswerGuard } from "./answer-guard.ts";
import type { OutputFormat, ThinkingEnd } from "./backend.ts";

/** Part of the token cap that stays free for the answer, and its bounds, tokens; of a small cap, half. */
const ANSWER_SHARE = 0.25;
const ANSWER_MIN = 16;
const ANSWER_MAX = 1024;
/** Tokens after which a grammar that rejects the end of reasoning is not tried again. */
const TRIES_MAX = 16;

export interface ThinkingLimitOptions {
  readonly format: OutputFormat;
  /** Tokens that the choice may generate. */
  readonly cap: number;
  /** Stop strings of the request: an end that contains one would end the answer. */
  readonly stop: readonly string[];
}

/** Reasoning as the choice's output sees it. */
export interface ReasoningState {
  /** The model is reasoning, from the opening tag on. */
  readonly inReasoning: boolean;
  /** No text is held back that may become markup. */
  readonly isSettled: boolean;
}

export class ThinkingLimit {
  private readonly ends: readonly ThinkingEnd[]; // the fullest first
  private readonly budget: number;
  private readonly cap: number;
  private readonly lastStart: number; // generated tokens by which the end must begin
  private spent = 0;
  private tries = 0;
  private over = false;

  private constructor(ends: readonly ThinkingEnd[], budget: number, cap: number, lastStart: number) {
    this.ends = ends;
    this.budget = budget;
    this.cap = cap;
    this.lastStart = lastStart;
  }

  /** Undefined where reasoning cannot be ended: the format has no tag for it, or the cap has no room. */
  static of({ format, cap, stop }: ThinkingLimitOptions): ThinkingLimit | undefined {
    const { thinkingBudget = Number.POSITIVE_INFINITY, thinkingCloses = [] } = format;
    if (!format.thinks && !format.startsInReasoning) return undefined;
    const answer = answerRoom(cap);
    const fits = thinkingCloses.filter(
      ({ text, tokens }) =>
        tokens.length > 0 && tokens.length + answer < cap && !stop.some((string) => text.includes(string)),
    );
    // A sentence must not take the room of the reasoning itself.
    const ends = fits.filter(({ tokens }, i) => i === fits.length - 1 || tokens.length <= answer);
    const [longest] = ends;
    if (longest === undefined) return undefined;
    return new ThinkingLimit(ends, thinkingBudget, cap, cap - answer - longest.tokens.length);
  }

  /** Tokens that can be generated before the reasoning may have to end, at least 0. */
  untilDue(generated: number): number {
    if (this.over) return Number.POSITIVE_INFINITY;
    return Math.max(0, Math.min(this.budget - this.spent, this.lastStart - generated));
  }

  /**
   * Notes a token, after the output has taken it. Returns the tokens that end the reasoning if it must end after this one.
   * `generated`: tokens of the answer so far.
   */
  noted(
    { inReasoning, isSettled }: ReasoningState,
    generated: number,
    guard: Pick<AnswerGuard, "mayGoOnWith"> | undefined,
  ): Int32Array | undefined {
    if (this.over) return undefined;
    if (!inReasoning) {
      this.over = this.spent > 0;
      return undefined;
    }
    this.spent++;
    if (this.untilDue(generated) > 0 || !isSettled) return undefined;
    const fits = ({ tokens }: ThinkingEnd): boolean =>
      generated + tokens.length < this.cap && (guard === undefined || guard.mayGoOnWith(tokens));
    const end = this.ends.find(fits);
    this.over = end !== undefined || ++this.tries === TRIES_MAX;
    return end?.tokens;
  }
}

function answerRoom(cap: number): number {
  const share = Math.min(ANSWER_MAX, Math.floor(cap * ANSWER_SHARE));
  return Math.max(1, share, Math.min(ANSWER_MIN, Math.floor(cap / 2)));
}
