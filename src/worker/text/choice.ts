// One choice of a run: the owner of its sequence, and how constraints apply to its answer (a grammar for the content, one
// for tool calls from the answer's first token or from a call's beginning on).

import type { ErrorData } from "../../core/error.ts";
import { AnswerGuard, escapesOf, NO_ESCAPES, OUTSIDE_GRAMMAR } from "./answer-guard.ts";
import type { AnswerPlan, RenderedPrompt } from "./backend.ts";
import type { Matcher } from "./constraint-backend.ts";
import type { DraftLength } from "./decode/draft-length.ts";
import type { Fingerprint } from "./fingerprint.ts";
import type { ChoiceOutput, RunState } from "./run-state.ts";
import type { Sequence } from "./sequence.ts";

/** The owner of a sequence. */
export interface Choice {
  readonly run: RunState;
  readonly output: ChoiceOutput;
  /** Enforces the answer's constraint; undefined without one. */
  guard: AnswerGuard | undefined;
  /** undefined: the sequence has no drafts. */
  draftLength: DraftLength | undefined;
  /** The grammar of a tool call that may still begin. */
  calls: PendingCalls | undefined;
  /** Where asked for. */
  readonly fingerprint: Fingerprint | undefined;
}

/** The grammar of tool calls, until one begins. */
export interface PendingCalls {
  readonly from: "marker" | "name";
  readonly matcher: Matcher;
  /** Names of the tools, in quotes. */
  readonly names: readonly string[];
  /** A call that leaves the grammar fails the run, because its arguments must follow their schemas. */
  readonly strict: boolean;
}

export type EngineSequence = Sequence<Choice>;

/** Whether the answer may begin with reasoning. */
function mayReason({ format }: RenderedPrompt): boolean {
  return format.thinks && (format.thinkingStart !== "" || format.startsInReasoning);
}

/** Matchers of one choice's answer, before the choice takes them. The receiver of the set owns it. */
export class MatcherSet {
  private readonly content: Matcher | undefined;
  private readonly plan: AnswerPlan | undefined;
  private readonly calls: Matcher | undefined;

  /** `content`: for the answer's content. `calls`: for tool calls, or for the whole answer, as `plan` says. */
  constructor(content: Matcher | undefined, plan: AnswerPlan | undefined, calls: Matcher | undefined) {
    this.content = content;
    this.plan = plan;
    this.calls = calls;
  }

  /** Schema locations of the request that are not enforced. */
  get unenforced(): readonly string[] {
    const all = [this.content?.unenforced, this.plan?.constraint.unenforced, this.calls?.unenforced];
    return [...new Set(all.flatMap((places) => places ?? []))];
  }

  clone(): MatcherSet {
    return new MatcherSet(this.content?.clone(), this.plan, this.calls?.clone());
  }

  free(): void {
    this.content?.free();
    this.calls?.free();
  }

  /** The guard from the first token on, and the grammar of calls that begin later. They own the matchers. */
  hold(prompt: RenderedPrompt): Pick<Choice, "guard" | "calls"> {
    const { content, plan, calls } = this;
    if (plan?.from === "start" && calls !== undefined)
      return { guard: new AnswerGuard(calls, NO_ESCAPES, "matching"), calls: undefined };
    const pending = plan === undefined || calls === undefined ? undefined : pendingCalls(plan, calls);
    if (content === undefined) return { guard: undefined, calls: pending };
    const { format } = prompt;
    const escapes = escapesOf(format, mayReason(prompt), pending !== undefined);
    const guard = new AnswerGuard(content, escapes, format.startsInReasoning ? "reasoning" : "opening");
    return { guard, calls: pending };
  }
}

function pendingCalls({ from, constraint }: AnswerPlan, matcher: Matcher): PendingCalls {
  const { sources } = constraint;
  const names = sources.map(({ at }) => `"${at.slice(at.indexOf(".") + 1)}"`);
  const strict = sources.some((source) => source.strict);
  return { from: from === "name" ? "name" : "marker", matcher, names, strict };
}

/** When a tool call has begun, switches the guard to the grammar of the tools. Returns the error if the call breaks it. */
export function beginCalls({ owner }: EngineSequence): ErrorData | undefined {
  const { calls, output } = owner;
  if (calls === undefined) return undefined;
  const text = calls.from === "marker" ? output.callText() : nameText(calls, output);
  if (text === undefined) return undefined;
  owner.calls = undefined;
  if (text === "" || calls.matcher.feed(text) === "rejected") {
    calls.matcher.free();
    return text !== "" && calls.strict ? OUTSIDE_GRAMMAR : undefined;
  }
  owner.guard?.free();
  owner.guard = new AnswerGuard(calls.matcher, NO_ESCAPES, "matching");
  owner.draftLength = undefined; // drafts know no grammar
  return undefined;
}

/** An answer longer than this does not begin with a bare tool call, characters. */
const NAME_WITHIN = 400;

/** The answer so far if it begins with a bare tool call; "" if it does not; undefined while that is open. */
function nameText({ names }: PendingCalls, output: ChoiceOutput): string | undefined {
  const text = output.answerText();
  const trimmed = text.trimStart();
  if (trimmed === "") return undefined;
  if (!/^[[{]/.test(trimmed) || trimmed.length > NAME_WITHIN) return "";
  return names.some((name) => trimmed.includes(name)) ? trimmed : undefined;
}
