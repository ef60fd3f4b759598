// Answer prefixes: when the last message is the assistant's, the model continues it.

import type { InputMessage } from "../../core/agent.ts";
import { ServiceError } from "../../core/error.ts";
import type { ToolChoice } from "../../core/run.ts";
import type { RunConstraint } from "./constraint.ts";

/** A conversation, with the prefix of its answer if the request sent one. */
export interface PrefixedConversation {
  readonly messages: readonly InputMessage[];
  readonly answerPrefix?: string;
}

/**
 * Splits a final assistant message off as the answer prefix. `index` is the position of the last message in the body.
 * Throws `invalid_request` if that message has tool calls or reasoning, which cannot be continued, or is the only one.
 */
export function withAnswerPrefix(messages: readonly InputMessage[], index: number): PrefixedConversation {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return { messages };
  const param = `messages[${index}]`;
  const before = messages.slice(0, -1);
  if (before.length === 0) {
    throw new ServiceError(
      "invalid_request",
      `${param} is an answer prefix without a message before it; send a user message first`,
      { param },
    );
  }
  if ((last.toolCalls ?? []).length > 0 || last.reasoning !== undefined) {
    const message = `${param} has tool calls or reasoning and cannot be continued; send the results of its calls, or only its text`;
    throw new ServiceError("invalid_request", message, { param });
  }
  const answerPrefix = last.content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return answerPrefix === "" ? { messages: before } : { messages: before, answerPrefix };
}

/** Throws `contradictory_fields` for an answer prefix together with a forced tool call or a constraint. */
export function refusePrefixConflicts(
  { answerPrefix }: PrefixedConversation,
  { constraintParam }: RunConstraint,
  choice: ToolChoice,
): void {
  if (answerPrefix === undefined) return;
  const isForced = choice.type === "required" || (choice.type === "named" && choice.required);
  const param = isForced ? "tool_choice" : constraintParam;
  if (param === undefined) return;
  const message = `${param} contradicts the assistant message at the end of messages, which the answer continues as text; omit one of them`;
  throw new ServiceError("contradictory_fields", message, { param });
}
