// One choice of a run: the owner of its sequence, and how constraints apply to its answer (a grammar for the content, one
// for tool calls from the answer's first token or from a call's beginning on).

import { assert } from "../../core/assert.ts";
import type { ErrorData } from "../../core/error.ts";
import { AnswerGuard, attempt, escapesOf, NO_ESCAPES, OUTSIDE_GRAMMAR } from "./answer-guard.ts";
import type { AnswerPlan, RenderedPrompt } from "./backend.ts";
import { CallCloser } from "./call-closer.ts";
import type { Matcher, PendingGrammar } from "./constraint-backend.ts";
import type { DraftLengths } from "./decode/draft-length.ts";
import type { Fingerprint } from "./fingerprint.ts";
import type { ChoiceOutput, RunState } from "./run-state.ts";
import type { Sequence } from "./sequence.ts";
import type { ThinkingLimit } from "./thinking-limit.ts";

/** The owner of a sequence. */
export interface Choice {
  readonly run: RunState;
  readonly output: ChoiceOutput;
  /** Enforces the answer's constraint; undefined without one. */
  guard: AnswerGuard | undefined;
  /** undefined: the sequence has no drafts. */
  readonly drafts: DraftLengths | undefined;
  /** The grammar of a tool call that may still begin. */
  calls: PendingCalls | undefined;
  /** Ends its reasoning; undefined where that is not possible. */
  readonly thinkingLimit: ThinkingLimit | undefined;
  /** What its answer begins with, where there is no room for reasoning. */
  readonly skip: Int32Array | undefined;
  /** Where asked for. */
  readonly fingerprint: Fingerprint | undefined;
}

/** The grammar of tool calls, until one begins. */
export interface PendingCalls {
  readonly grammar: CallGrammar;
  /** A call that leaves the grammar fails the run, because its arguments must follow their schemas. */
  readonly strict: boolean;
}

/** The grammar of tool calls. The prompt is computed while it compiles, and the answer's first token sampled. */
export class CallGrammar {
  private pending: PendingGrammar | undefined;
  private ready: Matcher | undefined;

  constructor(grammar: PendingGrammar | Matcher) {
    if ("take" in grammar) this.pending = grammar;
    else this.ready = grammar;
  }

  get isPending(): boolean {
    return this.pending !== undefined;
  }

  /** Undefined while it is pending. */
  get matcher(): Matcher | undefined {
    return this.ready;
  }

  /** Waits up to `waitMs` until it is compiled. Returns the error of a grammar that does not compile. */
  take(waitMs: number): ErrorData | undefined {
    const { pending } = this;
    this.pending = undefined; // when `take` throws, nothing is left to free
    const error = attempt(() => (this.ready = pending?.take(waitMs)));
    if (error === undefined && this.ready === undefined) this.pending = pending;
    return error;
  }

  free(): void {
    this.pending?.free();
    this.ready?.free();
  }
}

export type EngineSequence = Sequence<Choice>;

/** Whether its next token needs a grammar that is still being compiled. */
export function awaitsGrammar({ generated, owner }: EngineSequence): boolean {
  return generated > 0 && owner.calls?.grammar.isPending === true;
}

/** Whether the answer may begin with reasoning. */
function mayReason({ format }: RenderedPrompt): boolean {
  return format.thinks && (format.thinkingStart !== "" || format.startsInReasoning);
}

/** Matchers of one choice's answer, before the choice takes them. The receiver of the set owns it. */
export class MatcherSet {
  private readonly content: Matcher | undefined;
  private readonly plan: AnswerPlan | undefined;
  private readonly calls: Matcher | PendingGrammar | undefined;

  /**
   * `content`: for the answer's content. `calls`: for tool calls, or for the whole answer, as `plan` says; pending only for
   * a single choice whose calls begin later.
   */
  constructor(
    content: Matcher | undefined,
    plan: AnswerPlan | undefined,
    calls: Matcher | PendingGrammar | undefined,
  ) {
    this.content = content;
    this.plan = plan;
    this.calls = calls;
  }

  /** Schema locations of the request that are not enforced. */
  get unenforced(): readonly string[] {
    const { calls } = this;
    const ofCalls = calls === undefined || "take" in calls ? undefined : calls.unenforced;
    const all = [this.content?.unenforced, this.plan?.constraint.unenforced, ofCalls];
    return [...new Set(all.flatMap((places) => places ?? []))];
  }

  clone(): MatcherSet {
    const { calls } = this;
    assert(calls === undefined || "clone" in calls, "choices do not share a pending grammar");
    return new MatcherSet(this.content?.clone(), this.plan, calls?.clone());
  }

  free(): void {
    this.content?.free();
    this.calls?.free();
  }

  /**
   * The guard from the first token on, and the grammar of calls that begin later. They own the matchers. `closes`: a call is completed
   * before its tokens run out.
   */
  hold(prompt: RenderedPrompt, closes: boolean): Pick<Choice, "guard" | "calls"> {
    const { content, plan, calls } = this;
    if (plan?.from === "start" && calls !== undefined && "clone" in calls) {
      const closer = closes ? new CallCloser() : undefined;
      return { guard: new AnswerGuard(calls, NO_ESCAPES, "matching", closer), calls: undefined };
    }
    const pending = plan === undefined || calls === undefined ? undefined : pendingCalls(plan, calls);
    if (content === undefined) return { guard: undefined, calls: pending };
    const { format } = prompt;
    const escapes = escapesOf(format, mayReason(prompt), pending !== undefined);
    const guard = new AnswerGuard(content, escapes, format.startsInReasoning ? "reasoning" : "opening");
    return { guard, calls: pending };
  }
}

function pendingCalls({ constraint }: AnswerPlan, calls: Matcher | PendingGrammar): PendingCalls {
  return { grammar: new CallGrammar(calls), strict: constraint.sources.some((source) => source.strict) };
}

/** When a tool call has begun, switches the guard to the grammar of the tools. Returns the error if the call breaks it. */
export function beginCalls({ owner }: EngineSequence): ErrorData | undefined {
  const { calls, output } = owner;
  const matcher = calls?.grammar.matcher;
  if (calls === undefined || matcher === undefined) return undefined;
  const text = output.callText();
  if (text === undefined) return undefined;
  owner.calls = undefined;
  if (matcher.feed(text) === "rejected") {
    matcher.free();
    return calls.strict ? OUTSIDE_GRAMMAR : undefined;
  }
  owner.guard?.free();
  owner.guard = new AnswerGuard(matcher, NO_ESCAPES, "matching");
  return undefined;
}
