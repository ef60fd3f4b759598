// Converts a messages body to a Conversation. Owns, with the files it calls, all rules about field combinations of this
// dialect. Pure: knows neither HTTP nor the engine.

import type { Conversation } from "../../core/agent.ts";
import { type Compat, STRICT } from "../../core/compat.ts";
import { defined } from "../../core/defined.ts";
import { isObject, type Json } from "../../core/json.ts";
import { progressOf } from "../shared/progress.ts";
import { runKeepAlive } from "../shared/keep-alive.ts";
import { isPresent } from "../shared/check.ts";
import {
  dropFormatForForcedCall,
  capByGrammar,
  type RunConstraint,
  constraintOf,
  formatConstraint,
  onlyConstraint,
  refuseJsonObject,
} from "../shared/constraint.ts";
import {
  refusePrefixConflicts,
  type PrefixedConversation,
  withAnswerPrefix,
} from "../shared/answer-prefix.ts";
import { capTokens, endOf, samenessOf, samplingOf, stopOf } from "../shared/sampling.ts";
import { type ContentBlock, knownBlocks } from "./blocks.ts";
import { conversationOf } from "./content.ts";
import { MessagesRequest } from "./schema.ts";
import { templateValuesOf } from "../shared/thinking-fields.ts";
import { withSummaryModel } from "../shared/compaction.ts";
import { bodyChecker } from "../shared/unknown-fields.ts";
import { editsOf } from "./edits.ts";
import { thinkingOf } from "./thinking.ts";
import { toolUseOf } from "./tools.ts";

/** Which parts of an answer are sent. */
export interface AnswerView {
  /** Report cached tokens separately in usage. */
  readonly countsCached: boolean;
  /** Send thinking blocks without their text. */
  readonly omitsThinking: boolean;
}

/** A parsed messages request. */
export interface MessagesCall extends Conversation {
  readonly stream: boolean;
  readonly view: AnswerView;
}

const checkBody = bodyChecker(MessagesRequest);

/** Parses a request body; throws a ServiceError naming the field at fault and the accepted values. */
export function parseMessagesRequest(json: Json, compat: Compat = STRICT): MessagesCall {
  const body = checkedBody(json, compat);
  const stream = body.stream ?? false;
  const view = {
    countsCached: hasCacheControl(body),
    omitsThinking: typeof body.thinking === "object" && body.thinking?.display === "omitted",
  };
  return { ...messagesConversation(body, stream, compat), stream, view };
}

/** Parses the body of a token-count request: its run ends before anything is computed. */
export function parseCountRequest(json: Json, compat: Compat = STRICT): Conversation {
  const body = checkedBody(json, compat);
  const { run, agent } = messagesConversation(body, body.stream ?? false, compat);
  return { run: { ...run, countOnly: true }, agent };
}

function checkedBody(json: Json, compat: Compat): MessagesRequest {
  refuseJsonObject(json["response_format"], "response_format", compat);
  refuseJsonObject(json["output_format"], "output_format", compat);
  const config = json["output_config"];
  if (isObject(config)) refuseJsonObject(config["format"], "output_config.format", compat);
  const choice = json["tool_choice"];
  // Clients of other dialects send the word alone, and `required` for `any`.
  const tool_choice = typeof choice === "string" ? { type: choice === "required" ? "any" : choice } : choice;
  return checkBody({ ...json, tool_choice, messages: knownBlocks(json["messages"], compat) }, compat);
}

function messagesConversation(body: MessagesRequest, stream: boolean, compat: Compat): Conversation {
  const { tools, choice, agent } = toolUseOf(body, stream, compat);
  const constrained = dropFormatForForcedCall(messagesConstraint(body), choice);
  const messages = conversationOf(body.system, body.messages);
  const isAnswered = !isPresent(body.compaction);
  const begun: PrefixedConversation = isAnswered
    ? withAnswerPrefix(messages, body.messages.length - 1)
    : { messages };
  refusePrefixConflicts(begun, constrained, choice);
  const maxTokens = capByGrammar(capTokens(body.max_tokens), body);
  const run: Conversation["run"] = {
    model: body.model ?? "default",
    prompt: {
      type: "chat",
      ...begun,
      tools,
      toolChoice: choice,
      ...(body.tool_choice?.disable_parallel_tool_use === true ? { singleCall: true } : {}),
      ...templateValuesOf(body, compat),
      thinking: begun.answerPrefix === undefined ? thinkingOf(body, compat) : { enabled: false },
    },
    sampling: samplingOf(body),
    stop: stopOf(body.stop_sequences),
    ...defined({ maxTokens }),
    choices: 1,
    ...samenessOf(body),
    ...endOf(body),
    ...constrained,
    truncate: body.truncate_sequence ?? false,
    ...runKeepAlive(body),
    ...progressOf(body, stream),
  };
  const edits = { ...agent.edits, ...editsOf(body) };
  return {
    run,
    agent: { ...agent, ...withSummaryModel(Object.keys(edits).length === 0 ? undefined : edits, body) },
  };
}

/** The constraint of any of the fields that have one; `output_format` is the older name of `output_config.format`. */
function messagesConstraint(body: MessagesRequest): RunConstraint {
  return onlyConstraint(
    constraintOf(body),
    formatConstraint(body.output_format, "output_format"),
    formatConstraint(body.output_config?.format, "output_config.format"),
  );
}

/** Whether any part of the body has `cache_control`. */
function hasCacheControl({ cache_control, system, messages, tools }: MessagesRequest): boolean {
  const hasField = (part: { readonly cache_control?: object | null }) => isPresent(part.cache_control);
  const blockHasField = (block: ContentBlock): boolean =>
    hasField(block) ||
    (block.type === "tool_result" && Array.isArray(block.content) && block.content.some(hasField));
  return (
    isPresent(cache_control) ||
    (Array.isArray(system) && system.some(hasField)) ||
    (tools ?? []).some(hasField) ||
    messages.some(({ content }) => Array.isArray(content) && content.some(blockHasField))
  );
}
