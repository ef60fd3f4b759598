// RunEvents folded into one body: the non-streaming answer. Each run is folded by itself, because the best of its
// choices are known only then. A test holds the body equal to the fold of the stream.

import { assert, unreachable } from "../../core/assert.ts";
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
}

/** Collects the events of one run; pieces are joined once at the end, so the cost is linear in the answer. */
export class CompletionFold {
  private readonly layout: CompletionLayout;
  private readonly drafts: ChoiceDraft[];
  private promptTokens = 0;
  private spent: RunCost | undefined;

  /** `choices` are the run's, of which the layout may want fewer. */
  constructor(choices: number, layout: CompletionLayout) {
    this.layout = layout;
    this.drafts = Array.from({ length: choices }, () => ({ text: [], tokens: [], reason: undefined }));
  }

  /** Takes the next event; throws the ServiceError of an `error` event. */
  add(event: RunEvent): void {
    switch (event.type) {
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
        assert(false, "a completion calls a tool");
        return;
      case "choice_end":
        this.draft(event.choice).reason = event.reason;
        return;
      case "finish":
        this.spent = { usage: event.usage, timings: event.timings };
        return;
      case "error":
        throw ServiceError.fromData(event.error);
      default:
        unreachable(event);
    }
  }

  /** What the run cost; only after its `finish`. */
  cost(): RunCost {
    assert(this.spent !== undefined, "a body is asked for before the run finished");
    return this.spent;
  }

  /** The choices to answer with, numbered from `firstIndex`. */
  choices(firstIndex: number): readonly CompletionResponseChoice[] {
    return this.best().map((draft, index) => this.choiceBody(draft, firstIndex + index));
  }

  /** All choices, or the likeliest of them, best first. */
  private best(): readonly ChoiceDraft[] {
    const { n } = this.layout;
    if (n === this.drafts.length) return this.drafts;
    const rated = this.drafts.map((draft) => ({ draft, rate: this.meanLogprob(draft) }));
    rated.sort((a, b) => b.rate - a.rate);
    return rated.slice(0, n).map(({ draft }) => draft);
  }

  /** Of the generated tokens, without those of an echoed prompt. A choice without any is the least likely. */
  private meanLogprob({ tokens }: ChoiceDraft): number {
    const generated = this.layout.echo ? tokens.slice(this.promptTokens) : tokens;
    if (generated.length === 0) return -Number.MAX_VALUE;
    return generated.reduce((sum, { logprob }) => sum + logprob, 0) / generated.length;
  }

  private choiceBody({ text, tokens, reason }: ChoiceDraft, index: number): CompletionResponseChoice {
    assert(reason === "stop" || reason === "length", `a completion ended with ${reason}`);
    return {
      index,
      text: text.join(""),
      logprobs: this.layout.withLogprobs ? new LogprobsLayout(this.layout.echo).next(tokens) : null,
      finish_reason: reason,
    };
  }

  private draft(choice: number): ChoiceDraft {
    const draft = this.drafts[choice];
    assert(draft !== undefined, "an event names a choice that was not asked for");
    return draft;
  }
}

/** The body of a request whose runs, one a prompt, have all finished. */
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
