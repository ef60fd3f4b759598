// The body of a non-streaming answer.

import { assert } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import type { TokenLogprob } from "../../core/run.ts";
import { answerHead, type AnswerMeta } from "../shared/answer.ts";
import { type AnswerChoice, AnswerFold, joined, textBlocks } from "../shared/answer-fold.ts";
import { mergeCosts, usageBody } from "../shared/usage.ts";
import { LogprobsLayout } from "./logprobs.ts";
import type { CompletionLayout } from "./request.ts";
import type { CompletionResponse, CompletionResponseChoice } from "./schema.ts";

/** The answer of one run, whose choices are ranked when it ends. */
export class CompletionFold extends AnswerFold {
  private readonly layout: CompletionLayout;

  /** `choices`: those of the run; the layout may select fewer. */
  constructor(choices: number, layout: CompletionLayout) {
    super(choices);
    this.layout = layout;
  }

  /** The choices of the answer, numbered from `firstIndex`. */
  choices(firstIndex: number): readonly CompletionResponseChoice[] {
    return this.best().map((answer, index) => this.choiceBody(answer, firstIndex + index));
  }

  /** The `n` choices with the highest mean log probability, best first; all choices if there are only `n`. */
  private best(): readonly AnswerChoice[] {
    const { n } = this.layout;
    if (n === this.answers.length) return this.answers;
    const rated = this.answers.map((answer) => ({ answer, rate: this.meanLogprob(answer) }));
    rated.sort((a, b) => b.rate - a.rate);
    return rated.slice(0, n).map(({ answer }) => answer);
  }

  /** Over generated tokens, without an echoed prompt. A choice without tokens ranks last. */
  private meanLogprob(answer: AnswerChoice): number {
    const tokens = tokensOf(answer);
    const generated = this.layout.echo ? tokens.slice(this.promptTokens) : tokens;
    if (generated.length === 0) return -Number.MAX_VALUE;
    return generated.reduce((sum, { logprob }) => sum + logprob, 0) / generated.length;
  }

  private choiceBody(answer: AnswerChoice, index: number): CompletionResponseChoice {
    const { reason, stop, fingerprint } = answer.ending ?? {};
    assert(reason !== undefined && reason !== "tool_calls", `completion ended with ${reason}`);
    return {
      index,
      text: joined(answer.blocks),
      logprobs: this.layout.withLogprobs ? new LogprobsLayout(this.layout.echo).next(tokensOf(answer)) : null,
      finish_reason: reason,
      ...defined({ stop_reason: stop, fingerprint }),
    };
  }
}

function tokensOf(answer: AnswerChoice): readonly TokenLogprob[] {
  return textBlocks(answer, "text", "reasoning").flatMap(({ tokens }) => tokens);
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
