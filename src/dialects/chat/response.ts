// The body of a non-streaming answer.

import { assert } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import { answerHead, type AnswerMeta } from "../shared/answer.ts";
import { type AnswerChoice, AnswerFold, callBlocks, joined, textBlocks } from "../shared/answer-fold.ts";
import { CustomInput } from "../shared/custom-tools.ts";
import { usageBody } from "../shared/usage.ts";
import { choiceLogprobs } from "./logprobs.ts";
import type {
  ChatCompletionResponse,
  ChatCompletionResponseChoice,
  ChatCompletionResponseMessage,
} from "./schema.ts";

export interface ChatFoldOptions {
  readonly choices: number;
  /** Names of tools whose calls are given back as text. */
  readonly customTools?: ReadonlySet<string>;
  /** The request has `logprobs`: every choice has the field, possibly with an empty list. */
  readonly withLogprobs: boolean;
}

/** The answer of one run. */
export class ChatFold extends AnswerFold {
  private readonly withLogprobs: boolean;
  private readonly customTools: ReadonlySet<string>;

  constructor({ choices, withLogprobs, customTools }: ChatFoldOptions) {
    super(choices);
    this.customTools = customTools ?? new Set();
    this.withLogprobs = withLogprobs;
  }

  /** The body; requires that the run's `finish` was added. */
  body(meta: AnswerMeta): ChatCompletionResponse {
    const { usage, timings } = this.cost();
    return {
      ...answerHead(meta, "chat.completion"),
      choices: this.answers.map((answer, index) => this.choiceBody(answer, index)),
      usage: usageBody(usage, timings),
      ...this.agent.body(),
    };
  }

  private choiceBody(answer: AnswerChoice, index: number): ChatCompletionResponseChoice {
    const { ending } = answer;
    assert(ending !== undefined, "run finished before its choice ended");
    const tokens = textBlocks(answer, "text").flatMap((block) => block.tokens);
    return {
      index,
      message: messageBody(answer, this.customTools),
      logprobs: this.withLogprobs ? choiceLogprobs(tokens) : null,
      finish_reason: ending.reason,
      ...defined({ stop_reason: ending.stop, fingerprint: ending.fingerprint }),
    };
  }
}

/** Content is null only if the answer consists of tool calls; an empty answer is an empty string. */
function messageBody(answer: AnswerChoice, customTools: ReadonlySet<string>): ChatCompletionResponseMessage {
  const content = joined(textBlocks(answer, "text"));
  const reasoning = textBlocks(answer, "reasoning");
  const calls = callBlocks(answer);
  return {
    role: "assistant",
    content: content === "" && calls.length > 0 ? null : content,
    refusal: null,
    ...(reasoning.length > 0 ? { reasoning_content: joined(reasoning) } : {}),
    ...(calls.length > 0
      ? {
          tool_calls: calls.map((call) => {
            const { id, name } = call;
            const args = joined([call]);
            return customTools.has(name)
              ? { id, type: "custom", custom: { name, input: new CustomInput().add(args) } }
              : { id, type: "function", function: { name, arguments: args } };
          }),
        }
      : {}),
  };
}
