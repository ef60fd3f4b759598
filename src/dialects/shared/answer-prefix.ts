// Answers that have begun: a conversation whose last message is the assistant's, which the model goes on with.

import type { InputMessage } from "../../core/agent.ts";
import { ServiceError } from "../../core/error.ts";
import type { ToolChoice } from "../../core/run.ts";
import type { RunConstraint } from "./constraint.ts";

/** A conversation, and the beginning of its answer where it has begun. */
export interface PrefixedConversation {
  readonly messages: readonly InputMessage[];
  readonly answerPrefix?: string;
}

/**
 * Takes the beginning of the answer off the end. `index` is where the last message stands in the body. Throws
 * `invalid_request` for one with calls or reasoning, which nobody can be in the middle of, or with nothing before it.
 */
export function withAnswerPrefix(messages: readonly InputMessage[], index: number): PrefixedConversation {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return { messages };
  const param = `messages[${index}]`;
  const before = messages.slice(0, -1);
  if (before.length === 0) {
    throw new ServiceError(
      "invalid_request",
      `${param} begins an answer to nothing; send a user message before it`,
      { param },
    );
  }
  if ((last.toolCalls ?? []).length > 0 || last.reasoning !== undefined) {
    const message = `${param} ends with what cannot be continued; send the results of its calls, or its text alone`;
    throw new ServiceError("invalid_request", message, { param });
  }
  const answerPrefix = last.content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return answerPrefix === "" ? { messages: before } : { messages: before, answerPrefix };
}

/** Throws `contradictory_fields` for an answer that has begun and must be a call, or follow a grammar from its beginning. */
export function refusePrefixConflicts(
  { answerPrefix }: PrefixedConversation,
  { constraintParam }: RunConstraint,
  choice: ToolChoice,
): void {
  if (answerPrefix === undefined) return;
  const isForced = choice.type === "required" || (choice.type === "named" && choice.required);
  const param = isForced ? "tool_choice" : constraintParam;
  if (param === undefined) return;
  const message = `${param} contradicts an assistant message at the end: an answer that has begun as text cannot be held to it; leave out one of them`;
  throw new ServiceError("contradictory_fields", message, { param });
}
