// One continuation of a run's prompt: what its sequence belongs to, and how its answer is held to what was asked of it
// (a constraint, the grammar of tool calls from the answer's or a call's beginning on).

import type { ErrorData } from "../../core/error.ts";
import { AnswerGuard, escapesOf, NO_ESCAPES, OUTSIDE_GRAMMAR } from "./answer-guard.ts";
import type { AnswerPlan, RenderedPrompt } from "./backend.ts";
import type { Matcher } from "./constraint-backend.ts";
import type { DraftLength } from "./decode/draft-length.ts";
import type { ChoiceOutput, RunState } from "./run-state.ts";
import type { Sequence } from "./sequence.ts";

/** What a sequence of the engine belongs to. */
export interface Choice {
  readonly run: RunState;
  readonly output: ChoiceOutput;
  /** What the answer must look like, if anything was asked. */
  guard: AnswerGuard | undefined;
  /** Drafts what follows; undefined where nothing is guessed. */
  draftLength: DraftLength | undefined;
  /** A tool call may still begin, and is then held to this. */
  calls: PendingCalls | undefined;
}

/** The grammar of tool calls, until one begins. */
export interface PendingCalls {
  readonly from: "marker" | "name";
  readonly matcher: Matcher;
  /** Names of the tools, in quotes. */
  readonly names: readonly string[];
  /** Arguments must follow their schemas: a call that cannot be followed ends the answer. */
  readonly strict: boolean;
}

export type EngineSequence = Sequence<Choice>;

/** Whether the answer may begin with reasoning. */
function mayReason({ format }: RenderedPrompt): boolean {
  return format.thinks && (format.thinkingStart !== "" || format.startsInReasoning);
}

/** Matchers of one choice's answer, until they are handed to it. Whoever gets the set owns it. */
export class MatcherSet {
  private readonly content: Matcher | undefined;
  private readonly plan: AnswerPlan | undefined;
  private readonly calls: Matcher | undefined;

  /** `content`: what the content must look like; `calls`: of the plan for calls, or for the answer with them. */
  constructor(content: Matcher | undefined, plan: AnswerPlan | undefined, calls: Matcher | undefined) {
    this.content = content;
    this.plan = plan;
    this.calls = calls;
  }

  /** Places in the request that are not enforced. */
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

  /** Hands the matchers over: what holds from the first token on, and what calls are held to once they begin. */
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

/** Where a tool call has begun, holds it to the grammar of the tools. Returns what went wrong. */
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

/** An answer longer than this does not begin with the name of a tool, characters. */
const NAME_WITHIN = 400;

/** The answer up to now, if it begins like a bare call and names a tool; "" if it does not, undefined if it still may. */
function nameText({ names }: PendingCalls, output: ChoiceOutput): string | undefined {
  const text = output.answerText();
  const trimmed = text.trimStart();
  if (trimmed === "") return undefined;
  if (!/^[[{]/.test(trimmed) || trimmed.length > NAME_WITHIN) return "";
  return names.some((name) => trimmed.includes(name)) ? trimmed : undefined;
}
