// The body of a non-streaming answer.

import { assert } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import type { TokenLogprob } from "../../core/run.ts";
import { answerHead, type AnswerMeta } from "../shared/answer.ts";
import { type AnswerChoice, type AnswerReducer, joined, textBlocks } from "../shared/answer-reducer.ts";
import { mergeCosts, usageBody } from "../shared/usage.ts";
import { LogprobsLayout } from "./logprobs.ts";
import type { CompletionLayout } from "./request.ts";
import type { CompletionResponse, CompletionResponseChoice } from "./schema.ts";

/** The body of a request whose runs have all finished. The choices of each run are ranked. */
export function completionBody(
  answers: readonly AnswerReducer[],
  meta: AnswerMeta,
  layout: CompletionLayout,
): CompletionResponse {
  const choices = answers.flatMap((answer) => best(answer, layout));
  const { usage, timings } = mergeCosts(answers.map(({ cost }) => cost));
  return {
    ...answerHead(meta, "text_completion"),
    choices: choices.map((choice, index) => choiceBody(choice, index, layout)),
    usage: usageBody(usage, timings),
  };
}

/** The `n` choices with the highest mean log probability, best first; all choices if there are only `n`. */
function best({ choices, promptTokens }: AnswerReducer, { n, echo }: CompletionLayout) {
  if (n === choices.length) return choices;
  const rated = choices.map((choice) => ({ choice, rate: meanLogprob(choice, echo ? promptTokens : 0) }));
  rated.sort((a, b) => b.rate - a.rate);
  return rated.slice(0, n).map(({ choice }) => choice);
}

/** Over generated tokens, without an echoed prompt. A choice without tokens ranks last. */
function meanLogprob(choice: AnswerChoice, echoed: number): number {
  const generated = tokensOf(choice).slice(echoed);
  if (generated.length === 0) return -Number.MAX_VALUE;
  return generated.reduce((sum, { logprob }) => sum + logprob, 0) / generated.length;
}

function choiceBody(
  choice: AnswerChoice,
  index: number,
  { withLogprobs, echo }: CompletionLayout,
): CompletionResponseChoice {
  const { reason, stop, fingerprint } = choice.ending ?? {};
  assert(reason !== undefined && reason !== "tool_calls", `completion ended with ${reason}`);
  return {
    index,
    text: joined(choice.blocks),
    logprobs: withLogprobs ? new LogprobsLayout(echo).next(tokensOf(choice)) : null,
    finish_reason: reason,
    ...defined({ stop_reason: stop, fingerprint }),
  };
}

function tokensOf(choice: AnswerChoice): readonly TokenLogprob[] {
  return textBlocks(choice, "text", "reasoning").flatMap(({ tokens }) => tokens);
}
