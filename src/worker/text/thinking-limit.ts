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
  /** The answer has begun, after any reasoning. */
  readonly answering: boolean;
}

interface Limits {
  /** The fullest first. */
  readonly ends: readonly ThinkingEnd[];
  /** For reasoning that begins again. */
  readonly again: readonly ThinkingEnd[];
  readonly budget: number;
  readonly cap: number;
  /** Generated tokens by which the end must begin. */
  readonly lastStart: number;
  /** Tokens of the tag with which reasoning begins again, 0: it does not. */
  readonly reopening: number;
}

export class ThinkingLimit {
  private readonly limits: Limits;
  private spent = 0;
  private tries = 0;
  private closed = false;

  private constructor(limits: Limits) {
    this.limits = limits;
  }

  /** Undefined where reasoning cannot be ended: the format has no tag for it, or the cap has no room. */
  static of({ format, cap, stop }: ThinkingLimitOptions): ThinkingLimit | undefined {
    const { thinkingBudget: budget = Number.POSITIVE_INFINITY, thinkingCloses = [] } = format;
    const { answerOpening: opening = 0, thinkingAgain: again = [], thinkingStartTokens: start } = format;
    const isFree = ({ text }: ThinkingEnd): boolean => !stop.some((string) => text.includes(string));
    const usable = thinkingCloses.filter((end) => end.tokens.length > 0 && isFree(end));
    const shortest = usable.at(-1);
    if (shortest === undefined) return undefined;
    const answer = Math.min(answerRoom(cap, opening), cap - shortest.tokens.length - 1);
    if (answer <= opening) return undefined;
    // A sentence must not take the room of the reasoning itself.
    const fits = ({ tokens }: ThinkingEnd): boolean =>
      tokens.length <= answer && tokens.length + answer < cap;
    const ends = usable.filter((end) => end === shortest || fits(end));
    const longest = Math.max(...ends.map(({ tokens }) => tokens.length));
    const lastStart = cap - answer - longest;
    const reopening = format.reopens === true ? start.length : 0;
    return new ThinkingLimit({ ends, again: again.filter(isFree), budget, cap, lastStart, reopening });
  }

  /** Tokens that can be generated before the reasoning may have to end, at least 0. */
  untilDue({ inReasoning, answering }: Omit<ReasoningState, "isSettled">, generated: number): number {
    const { budget, lastStart, reopening } = this.limits;
    if (this.tries === TRIES_MAX) return Number.POSITIVE_INFINITY;
    const left = Math.max(0, Math.min(budget - this.spent, lastStart - generated));
    if (inReasoning || (!answering && !this.closed)) return left;
    return reopening === 0 ? Number.POSITIVE_INFINITY : reopening + Math.max(0, left - 1);
  }

  /** Whether the cap has no room for reasoning that begins again: then the answer is opened, too. */
  private isTight(generated: number): boolean {
    const { again, cap, reopening } = this.limits;
    const opened = again[0]?.tokens.length ?? 0;
    return reopening > 0 && generated + 2 * opened + reopening + ANSWER_MIN > cap;
  }

  /**
   * Notes a token, after the output has taken it. Returns the tokens that end the reasoning if it must end after this one.
   * `generated`: tokens of the answer so far.
   */
  noted(
    state: ReasoningState,
    generated: number,
    guard: Pick<AnswerGuard, "mayGoOnWith"> | undefined,
  ): Int32Array | undefined {
    if (!state.inReasoning) return undefined;
    this.spent++;
    if (this.untilDue(state, generated) > 0 || !state.isSettled) return undefined;
    const { ends, again, cap } = this.limits;
    const fits = ({ tokens }: ThinkingEnd): boolean =>
      generated + tokens.length < cap && (guard === undefined || guard.mayGoOnWith(tokens));
    const end = (this.closed || this.isTight(generated) ? [...again, ...ends] : ends).find(fits);
    if (end === undefined) this.tries++;
    else this.closed = true;
    return end?.tokens;
  }
}

/**
 * Tokens with which an answer begins whose cap has no room for reasoning, its markup and a word after it; undefined where it has, or where
 * nothing would be left.
 */
export function skippedThinking(
  { format, cap, stop }: ThinkingLimitOptions,
  guard: Pick<AnswerGuard, "mayGoOnWith"> | undefined,
): Int32Array | undefined {
  const { thinkingCloses = [], thinkingSkip = [], thinkingStartTokens: start, startsInReasoning } = format;
  const [end, skip] = [thinkingCloses.at(-1), thinkingSkip[0]];
  if (end === undefined || skip === undefined || format.calls?.required === true) return undefined;
  // With thinking off, some models reason all the same; to others empty reasoning would be news.
  if (!format.thinks && !startsInReasoning && skip.text.includes(end.text)) return undefined;
  const begun = (startsInReasoning ? 0 : start.length) + 1;
  const markup = begun + end.tokens.length + (format.answerOpening ?? 0);
  const needed = (format.reopens === true ? 2 * markup : markup) + 1;
  const isPossible = skip.tokens.length < cap && !stop.some((string) => skip.text.includes(string));
  if (cap >= needed || !isPossible || guard?.mayGoOnWith(skip.tokens) === false) return undefined;
  return skip.tokens;
}

/** Room for an answer and the markup before it, tokens. */
function answerRoom(cap: number, opening: number): number {
  const share = Math.min(ANSWER_MAX, Math.floor(cap * ANSWER_SHARE));
  return opening + Math.max(1, share, Math.min(ANSWER_MIN, Math.floor((cap - opening) / 2)));
}
