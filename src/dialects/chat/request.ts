// Converts a chat-completions body to a Conversation. Owns, with unsupported.ts, all rules about field combinations of
// this dialect. Pure: knows neither HTTP nor the engine.

import type { AgentRequest, Conversation, FileSource, InputMessage, InputPart } from "../../core/agent.ts";
import { unreachable } from "../../core/assert.ts";
import { type Compat, STRICT } from "../../core/compat.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import type { ToolCall as CoreToolCall } from "../../core/message.ts";
import { adapterOf } from "../shared/adapter.ts";
import { agentOf, refuseForeignContainers } from "../shared/agent.ts";
import { argumentsText } from "../shared/call-arguments.ts";
import { isPresent } from "../shared/check.ts";
import {
  type PrefixedConversation,
  refusePrefixConflicts,
  withAnswerPrefix,
} from "../shared/answer-prefix.ts";
import { isOmitted, withWholeFiles } from "../shared/compat.ts";
import { dropFormatForForcedCall, capByGrammar, constraintOf } from "../shared/constraint.ts";
import { progressOf } from "../shared/progress.ts";
import { customCall, customFunction, customName, usualChoice } from "../shared/custom-tools.ts";
import { runKeepAlive } from "../shared/keep-alive.ts";
import { namedMedia, urlSource } from "../shared/media.ts";
import { maxTokensOf, endOf, samenessOf, samplingOf, stopOf } from "../shared/sampling.ts";
import { agreedThinking, sayingsOf, templateValuesOf } from "../shared/thinking-fields.ts";
import { sentTools, toolUseOf, withToolTypes } from "../shared/tools.ts";
import { webSearchOptionsOf } from "../shared/web-search.ts";
import { bodyChecker } from "../shared/unknown-fields.ts";
import { logprobsOf } from "../shared/logprobs.ts";
import { knownMessages } from "./known-parts.ts";
import { ChatCompletionRequest, type Message } from "./schema.ts";
import { LEFT_OUT, refuseUnsupported, withoutForeignTools } from "./unsupported.ts";

/** A parsed chat-completions request. */
export interface ChatCall extends Conversation {
  readonly stream: boolean;
  /** Send usage in a separate chunk without choices. */
  readonly includeUsage: boolean;
  /** Names of tools whose calls are given back as text. */
  readonly customTools?: ReadonlySet<string>;
}

const checkBody = bodyChecker(ChatCompletionRequest);

/** Parses a request body; throws a ServiceError naming the field at fault and the accepted values. */
export function parseChatRequest(json: Readonly<Record<string, unknown>>, compat: Compat = STRICT): ChatCall {
  refuseUnsupported(json, compat);
  refuseForeignContainers(json["tools"]);
  const body = checkBody(
    {
      ...json,
      messages: knownMessages(json["messages"], compat),
      tools: withoutForeignTools(withToolTypes(json["tools"]), compat),
      tool_choice: usualChoice(json["tool_choice"]),
    },
    compat,
  );
  const stream = body.stream ?? false;
  const agent = chatAgentOf(body, stream, compat);
  const sent = (body.tools ?? []).map((tool) => {
    if (tool === LEFT_OUT) return { type: "left_out" };
    return tool.type === "custom" ? customFunction(tool, compat) : tool;
  });
  const { tools, choice } = toolUseOf(sentTools(sent), body.tool_choice);
  const maxTokens = capByGrammar(maxTokensOf(body), body);
  const logprobs = logprobsOf(body);
  const constrained = dropFormatForForcedCall(constraintOf(body), choice);
  const begun = prefixedConversation(body);
  refusePrefixConflicts(begun, constrained, choice);
  const thinking = agreedThinking(sayingsOf(body, compat));
  const run: Conversation["run"] = {
    model: body.model ?? "default",
    prompt: {
      type: "chat",
      ...begun,
      messages: withWholeFiles(begun.messages, compat),
      tools,
      toolChoice: choice,
      ...singleCallOf(body, compat),
      ...templateValuesOf(body, compat),
      thinking: begun.answerPrefix === undefined ? thinking : { enabled: false },
    },
    sampling: samplingOf(body),
    stop: stopOf(body.stop),
    ...defined({ maxTokens }),
    choices: body.n ?? 1,
    ...defined({ logprobs }),
    ...constrained,
    ...adapterOf(body),
    truncate: body.truncate_sequence ?? false,
    ...runKeepAlive(body),
    ...progressOf(body, stream),
    ...samenessOf(body),
    ...endOf(body),
  };
  const custom = (body.tools ?? []).flatMap((tool) => (tool.type === "custom" ? [customName(tool)] : []));
  const customTools = custom.length === 0 ? {} : { customTools: new Set(custom) };
  return {
    run,
    agent,
    stream,
    ...customTools,
    includeUsage: stream && body.stream_options?.include_usage === true,
  };
}

/** `parallel_tool_calls: false` has no effect by the specification; clients mean one call by it. */
function singleCallOf(
  { parallel_tool_calls: parallel, tools }: ChatCompletionRequest,
  compat: Compat,
): { readonly singleCall?: true } {
  if (parallel !== false || (tools ?? []).length === 0 || compat.mode !== "clients") return {};
  compat.note("parallel_tool_calls");
  return { singleCall: true };
}

/** The conversation; with `continue_final_message`, its last message becomes the answer prefix. */
function prefixedConversation(body: ChatCompletionRequest): PrefixedConversation {
  const messages = messagesOf(body.messages);
  if (body.continue_final_message !== true) return { messages };
  if (messages.at(-1)?.role === "assistant") return withAnswerPrefix(messages, messages.length - 1);
  const param = "continue_final_message";
  throw new ServiceError("invalid_request", `${param} requires an assistant message at the end of messages`, {
    param,
  });
}

/** The agent request of the body, hosted tools included. */
function chatAgentOf(body: ChatCompletionRequest, stream: boolean, compat: Compat): AgentRequest {
  const webSearch = webSearchOptionsOf(body.web_search_options, compat);
  const python = (body.tools ?? []).findIndex((tool) => tool.type === "code_interpreter");
  const hasPython = python >= 0 && !isOmitted(compat, "code_execution");
  return {
    ...agentOf(body, stream),
    python: hasPython,
    ...(hasPython ? { fields: { code_execution: `tools[${python}]` } } : {}),
    ...(body.enable_shell === true ? { shell: { skills: [] } } : {}),
    ...defined({ webSearch }),
  };
}

function messagesOf(messages: readonly Message[] | string): readonly InputMessage[] {
  if (typeof messages === "string") return [{ role: "user", content: [{ type: "text", text: messages }] }];
  return messages.map(messageOf);
}

function messageOf(message: Message, index: number): InputMessage {
  const base = {
    role: message.role,
    content: contentOf(message.content, `messages[${index}].content`),
    ...(isPresent(message.name) ? { name: message.name } : {}),
  };
  if (message.role === "tool") {
    return isPresent(message.tool_call_id) ? { ...base, toolCallId: message.tool_call_id } : base;
  }
  if (message.role !== "assistant") return base;
  const toolCalls = toolCallsOf(message.tool_calls ?? [], index);
  return {
    ...base,
    ...(isPresent(message.reasoning_content) ? { reasoning: message.reasoning_content } : {}),
    ...(toolCalls.length > 0 ? { toolCalls } : {}),
  };
}

function contentOf(content: Message["content"], path: string): InputMessage["content"] {
  if (content === null || content === undefined) return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part, index) => partOf(part, `${path}[${index}]`));
}

type WirePart = Exclude<NonNullable<Message["content"]>, string>[number];

function partOf(part: WirePart, param: string): InputPart {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "refusal":
      return { type: "text", text: part.refusal };
    case "image_url":
      return namedMedia("image", urlSource(urlOf(part.image_url)), param);
    case "audio_url":
      return namedMedia("audio", urlSource(urlOf(part.audio_url)), param);
    case "input_audio":
      return namedMedia("audio", { type: "inline", data: part.input_audio.data }, param);
    case "video_url":
      return namedMedia("video", urlSource(urlOf(part.video_url)), param);
    case "input_video":
      return namedMedia("video", videoSource(part.input_video, param), param);
    case "file":
      return filePart(part.file, param);
    default:
      return unreachable(part);
  }
}

function urlOf(named: string | { readonly url: string }): string {
  return typeof named === "string" ? named : named.url;
}

function videoSource(
  { data, url }: Extract<WirePart, { type: "input_video" }>["input_video"],
  param: string,
): FileSource {
  if (isPresent(data) && !isPresent(url)) return { type: "inline", data };
  if (isPresent(url) && !isPresent(data)) return urlSource(url);
  const message = `${param}.input_video must have exactly one of data and url`;
  throw new ServiceError("invalid_request", message, { param: `${param}.input_video` });
}

function filePart(
  { file_id: id, filename, file_data: data }: Extract<WirePart, { type: "file" }>["file"],
  param: string,
): InputPart {
  if (isPresent(id) && !isPresent(data)) return { type: "file", source: { type: "stored", id }, param };
  if (isPresent(data) && !isPresent(id)) {
    const named = isPresent(filename) ? { filename } : {};
    return { type: "file", source: { type: "inline", data, ...named }, param };
  }
  const message = `${param}.file must have exactly one of file_id and file_data`;
  throw new ServiceError("invalid_request", message, { param: `${param}.file` });
}

type AssistantToolCalls = NonNullable<Extract<Message, { role: "assistant" }>["tool_calls"]>;

/** A call without an id gets one from its position. */
function toolCallsOf(calls: AssistantToolCalls, messageIndex: number): readonly CoreToolCall[] {
  return calls.map((call, index) => {
    const id = call.id ?? `call_${messageIndex}_${index}`;
    if (call.type === "custom") return customCall({ call_id: id, ...call.custom });
    const { name, arguments: args } = call.function;
    return { id, name, arguments: argumentsText(args) };
  });
}
