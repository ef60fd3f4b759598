// A chat-completions body → a RunRequest. All rules of this dialect about what may be sent together live here and in
// unsupported.ts. Pure: knows neither HTTP nor the engine.

import { ServiceError } from "../../core/error.ts";
import type { Message as CoreMessage, ToolCall as CoreToolCall } from "../../core/message.ts";
import type { RunRequest } from "../../core/run.ts";
import { refuseAdapter } from "../shared/adapter.ts";
import { checker, isPresent } from "../shared/check.ts";
import { constraintOf } from "../shared/constraint.ts";
import { thinkingOf } from "../shared/reasoning.ts";
import { maxTokensOf, samplingOf, stopOf } from "../shared/sampling.ts";
import { toolUseOf } from "../shared/tools.ts";
import { logprobsOf } from "./logprobs.ts";
import { ChatCompletionRequest, type Message, type MessageContent } from "./schema.ts";
import { refuseUnsupported } from "./unsupported.ts";

/** What a body asks for: the run, and how its answer is to be delivered. */
export interface ChatCall {
  readonly run: RunRequest;
  readonly stream: boolean;
  /** Send usage in a chunk of its own, without choices. */
  readonly includeUsage: boolean;
}

const checkBody = checker(ChatCompletionRequest);

/** Reads a parsed JSON body; throws a ServiceError naming the field at fault and what would be accepted. */
export function parseChatRequest(json: Readonly<Record<string, unknown>>): ChatCall {
  refuseUnsupported(json);
  const body = checkBody(json);
  const stream = body.stream ?? false;
  refuseUnansweredAsk(body, stream);
  refuseAdapter(body);
  const { tools, choice } = toolUseOf(body);
  const maxTokens = maxTokensOf(body);
  const logprobs = logprobsOf(body);
  const constraint = constraintOf(body);
  const run: RunRequest = {
    model: body.model ?? "default",
    prompt: {
      type: "chat",
      messages: messagesOf(body.messages),
      tools,
      toolChoice: choice,
      thinking: thinkingOf(body),
    },
    sampling: samplingOf(body),
    stop: stopOf(body.stop),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    choices: body.n ?? 1,
    ...(logprobs === undefined ? {} : { logprobs }),
    ...(constraint === undefined ? {} : { constraint }),
    truncate: body.truncate_sequence ?? false,
  };
  return { run, stream, includeUsage: stream && body.stream_options?.include_usage === true };
}

/** An approval is asked for in the stream, so a body that wants to be asked must stream. */
function refuseUnansweredAsk(body: ChatCompletionRequest, stream: boolean): void {
  const param = (["agent_permission", "code_execution_permission"] as const).find(
    (key) => body[key] === "ask",
  );
  if (param === undefined || stream) return;
  throw new ServiceError(
    "contradictory_fields",
    `${param} "ask" needs stream: true, where approvals are asked for`,
    {
      param,
    },
  );
}

function messagesOf(messages: readonly Message[] | string): readonly CoreMessage[] {
  if (typeof messages === "string") return [{ role: "user", content: contentOf(messages) }];
  return messages.map(messageOf);
}

function messageOf(message: Message, index: number): CoreMessage {
  const base = {
    role: message.role,
    content: contentOf(message.content),
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

function contentOf(content: MessageContent | null | undefined): CoreMessage["content"] {
  if (content === null || content === undefined) return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map(({ text }) => ({ type: "text", text }));
}

type AssistantToolCalls = NonNullable<Extract<Message, { role: "assistant" }>["tool_calls"]>;

/** A call without an id gets one from its position; empty arguments mean none, which is `{}` in JSON. */
function toolCallsOf(calls: AssistantToolCalls, messageIndex: number): readonly CoreToolCall[] {
  return calls.map((call, index) => ({
    id: call.id ?? `call_${messageIndex}_${index}`,
    name: call.function.name,
    arguments: call.function.arguments === "" ? "{}" : call.function.arguments,
  }));
}
