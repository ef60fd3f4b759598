// How reasoning is ended before the model ends it, and after how many tokens: a sentence in the words of the one who reasons, then the
// tag of the template. Rejected: the tag alone where there is room, since small models go on reasoning in the answer.

import type { ReasoningEffort, Thinking } from "../../src/core/run.ts";
import type { OutputFormat, ThinkingEnd } from "../../src/worker/text/backend.ts";
import type { Efforts } from "./efforts.ts";
import type { AnswerForm } from "./reasoning-form.ts";

const SENTENCE = "\n\nI have thought about this long enough. I answer now.\n";

/** Reasoning tokens of an effort where the template knows none. `xhigh`: as many as the answer's cap leaves. */
const EFFORT_TOKENS: Readonly<Record<ReasoningEffort, number | undefined>> = {
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: undefined,
};

/** What a format's reasoning is ended with. */
export type ThinkingCloses = Required<
  Pick<OutputFormat, "thinkingCloses" | "thinkingAgain" | "thinkingSkip" | "answerOpening" | "reopens">
>;

/** The tags of reasoning; `start`: "" where the prompt has it. */
export interface ThinkingTags {
  readonly start: string;
  readonly end: string;
}

/** The ways to end reasoning, the fullest first; none without a tag. */
export function thinkingCloses(
  { start, end }: ThinkingTags,
  { opening, direct, reopens }: AnswerForm,
  tokenize: (text: string) => Int32Array,
): ThinkingCloses {
  const skip = start === "" || direct === "" ? `${start}${end}${opening}` : direct;
  const closes = (...texts: readonly string[]): readonly ThinkingEnd[] =>
    end === "" ? [] : texts.map((text) => ({ text, tokens: tokenize(text) }));
  return {
    thinkingCloses: closes(`${SENTENCE}${end}`, end),
    thinkingAgain: closes(`${end}${opening}`, end),
    thinkingSkip: closes(skip),
    answerOpening: tokenize(opening).length,
    reopens,
  };
}

/** Reasoning tokens of an answer: what the request says, else what its effort means. */
export function thinkingBudget(
  { enabled, budget, effort }: Thinking,
  efforts: Pick<Efforts, "areIgnored">,
): number | undefined {
  if (!enabled || budget !== undefined) return budget;
  return effort !== undefined && efforts.areIgnored ? EFFORT_TOKENS[effort] : undefined;
}
