// The body of a non-streaming answer.

import { assert } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import { answerHead, type AnswerMeta } from "../shared/answer.ts";
import {
  type AnswerChoice,
  AnswerReducer,
  type CallBlock,
  callBlocks,
  joined,
  textBlocks,
} from "../shared/answer-reducer.ts";
import { usageBody } from "../shared/usage.ts";
import { choiceLogprobs } from "./logprobs.ts";
import type {
  ChatCompletionResponse,
  ChatCompletionResponseChoice,
  ChatCompletionResponseMessage,
} from "./schema.ts";
import type { ChatStreamOptions } from "./stream.ts";

/** The answer of one run, for `chatBody`. */
export function chatAnswer({
  choices,
  customTools,
}: Pick<ChatStreamOptions, "choices" | "customTools">): AnswerReducer {
  return new AnswerReducer({ choices, isCustom: (name) => customTools?.has(name) === true });
}

/**
 * The body; requires that the run's `finish` was added. `withLogprobs`: every choice has the field, possibly with an empty list.
 */
export function chatBody(
  answer: AnswerReducer,
  meta: AnswerMeta,
  withLogprobs: boolean,
): ChatCompletionResponse {
  const { usage, timings } = answer.cost;
  return {
    ...answerHead(meta, "chat.completion"),
    choices: answer.choices.map((choice, index) => choiceBody(choice, index, withLogprobs)),
    usage: usageBody(usage, timings),
    ...answer.agent.body(),
  };
}

function choiceBody(
  choice: AnswerChoice,
  index: number,
  withLogprobs: boolean,
): ChatCompletionResponseChoice {
  const { ending } = choice;
  assert(ending !== undefined, "run finished before its choice ended");
  const tokens = textBlocks(choice, "text").flatMap((block) => block.tokens);
  return {
    index,
    message: messageBody(choice),
    logprobs: withLogprobs ? choiceLogprobs(tokens) : null,
    finish_reason: ending.reason,
    ...defined({ stop_reason: ending.stop, fingerprint: ending.fingerprint }),
  };
}

/** Content is null only if the answer consists of tool calls; an empty answer is an empty string. */
function messageBody(choice: AnswerChoice): ChatCompletionResponseMessage {
  const content = joined(textBlocks(choice, "text"));
  const reasoning = textBlocks(choice, "reasoning");
  const calls = callBlocks(choice);
  return {
    role: "assistant",
    content: content === "" && calls.length > 0 ? null : content,
    refusal: null,
    ...(reasoning.length > 0 ? { reasoning_content: joined(reasoning) } : {}),
    ...(calls.length > 0 ? { tool_calls: calls.map(callBody) } : {}),
  };
}

function callBody(call: CallBlock): NonNullable<ChatCompletionResponseMessage["tool_calls"]>[number] {
  const { id, name, custom } = call;
  const text = joined([call]);
  if (custom === undefined) return { id, type: "function", function: { name, arguments: text } };
  return { id, type: "custom", custom: { name, input: text } };
}
