// Folds RunEvents into the body of a non-streaming answer. Each run has its own fold, because its choices are ranked when
// it ends. A test checks that the body equals the fold of the stream.

import { assert, unreachable } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import type { FinishReason, RunEvent, TokenLogprob } from "../../core/run.ts";
import { answerHead, type AnswerMeta } from "../shared/answer.ts";
import { mergeCosts, type RunCost, usageBody } from "../shared/usage.ts";
import { LogprobsLayout } from "./logprobs.ts";
import type { CompletionLayout } from "./request.ts";
import type { CompletionResponse, CompletionResponseChoice } from "./schema.ts";

interface ChoiceDraft {
  readonly text: string[];
  readonly tokens: TokenLogprob[];
  reason: FinishReason | undefined;
  stop: string | undefined;
  fingerprint: string | undefined;
}

/** Folds the events of one run. Text deltas are joined once at the end, so the cost is linear in the answer. */
export class CompletionFold {
  private readonly layout: CompletionLayout;
  private readonly drafts: ChoiceDraft[];
  private promptTokens = 0;
  private runCost: RunCost | undefined;

  /** `choices`: those of the run; the layout may select fewer. */
  constructor(choices: number, layout: CompletionLayout) {
    this.layout = layout;
    this.drafts = Array.from({ length: choices }, () => ({
      text: [],
      tokens: [],
      reason: undefined,
      stop: undefined,
      fingerprint: undefined,
    }));
  }

  /** Adds an event; throws the ServiceError of an `error` event. */
  add(event: RunEvent): void {
    switch (event.type) {
      case "load_progress":
      case "prompt_progress":
        return;
      case "accepted":
        this.promptTokens = event.promptTokens;
        return;
      case "text":
      case "reasoning": {
        const { text, tokens } = this.draft(event.choice);
        text.push(event.text);
        for (const token of event.logprobs ?? []) tokens.push(token);
        return;
      }
      case "tool_call_start":
      case "tool_call_args":
        assert(false, "tool call in a completion");
        return;
      case "choice_end":
        this.draft(event.choice).reason = event.reason;
        this.draft(event.choice).stop = event.stop;
        this.draft(event.choice).fingerprint = event.fingerprint;
        return;
      case "finish":
        this.runCost = { usage: event.usage, timings: event.timings };
        return;
      case "error":
        throw ServiceError.fromData(event.error);
      default:
        unreachable(event);
    }
  }

  /** Token counts and times of the run; requires that its `finish` was added. */
  cost(): RunCost {
    assert(this.runCost !== undefined, "body requested before the run finished");
    return this.runCost;
  }

  /** The choices of the answer, numbered from `firstIndex`. */
  choices(firstIndex: number): readonly CompletionResponseChoice[] {
    return this.best().map((draft, index) => this.choiceBody(draft, firstIndex + index));
  }

  /** The `n` choices with the highest mean log probability, best first; all choices if there are only `n`. */
  private best(): readonly ChoiceDraft[] {
    const { n } = this.layout;
    if (n === this.drafts.length) return this.drafts;
    const rated = this.drafts.map((draft) => ({ draft, rate: this.meanLogprob(draft) }));
    rated.sort((a, b) => b.rate - a.rate);
    return rated.slice(0, n).map(({ draft }) => draft);
  }

  /** Over generated tokens, without an echoed prompt. A choice without tokens ranks last. */
  private meanLogprob({ tokens }: ChoiceDraft): number {
    const generated = this.layout.echo ? tokens.slice(this.promptTokens) : tokens;
    if (generated.length === 0) return -Number.MAX_VALUE;
    return generated.reduce((sum, { logprob }) => sum + logprob, 0) / generated.length;
  }

  private choiceBody(
    { text, tokens, reason, stop, fingerprint }: ChoiceDraft,
    index: number,
  ): CompletionResponseChoice {
    assert(reason !== undefined && reason !== "tool_calls", `completion ended with ${reason}`);
    return {
      index,
      text: text.join(""),
      logprobs: this.layout.withLogprobs ? new LogprobsLayout(this.layout.echo).next(tokens) : null,
      finish_reason: reason,
      ...defined({ stop_reason: stop, fingerprint }),
    };
  }

  private draft(choice: number): ChoiceDraft {
    const draft = this.drafts[choice];
    assert(draft !== undefined, "event for a choice that was not requested");
    return draft;
  }
}

/** The body of a request whose runs have all finished. */
export function completionBody(meta: AnswerMeta, folds: readonly CompletionFold[]): CompletionResponse {
  const choices: CompletionResponseChoice[] = [];
  for (const fold of folds) choices.push(...fold.choices(choices.length));
  const { usage, timings } = mergeCosts(folds.map((fold) => fold.cost()));
  return {
    ...answerHead(meta, "text_completion"),
    choices,
    usage: usageBody(usage, timings),
  };
}
