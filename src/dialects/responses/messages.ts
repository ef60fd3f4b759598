// Converts items to messages, both those of a request and those of a stored response, so both are treated alike.

import type { FileSource, InputMessage, InputPart } from "../../core/agent.ts";
import { unreachable } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import type { ToolCall } from "../../core/message.ts";
import { argumentsText } from "../shared/call-arguments.ts";
import { isPresent } from "../shared/check.ts";
import { customCall } from "../shared/custom-tools.ts";
import { namedMedia, urlSource } from "../shared/media.ts";
import { hostedWork, isHosted } from "./hosted-items.ts";
import type {
  HostedItem,
  InputAudio,
  InputFile,
  InputImage,
  InputItem,
  InputVideo,
  MessageItem,
} from "./input-items.ts";
import type { OutputItem } from "./output-items.ts";

/** Name of the shell tool for models. */
const SHELL_TOOL = "svc_shell";

/** Converts items to messages. `path` is the path of the items in the body, for error messages about files. */
export function messagesOf(items: readonly InputItem[], path = "input"): readonly InputMessage[] {
  const reader = new ItemReader();
  for (const [index, item] of items.entries()) reader.add(item, `${path}[${index}]`);
  return reader.messages;
}

/** The messages that an answer adds to its conversation, without calls and reasoning that were truncated. */
export function answerMessages(output: readonly OutputItem[]): readonly InputMessage[] {
  return messagesOf(output.filter((item) => item.type === "message" || item.status !== "incomplete"));
}

/** Merges reasoning and calls into the assistant message they belong to, as templates expect. */
class ItemReader {
  readonly messages: InputMessage[] = [];
  /** Reasoning of the next assistant message. */
  private reasoning: string | undefined;
  private readonly names = new Map<string, string>();

  add(item: InputItem, path: string): void {
    if (isHosted(item)) return this.addHosted(item, path);
    switch (item.type) {
      case "message":
        return this.addMessage(item, path);
      case "reasoning":
        this.reasoning = reasoningText(item) ?? this.reasoning;
        return;
      case "function_call":
        return this.addCall({
          id: item.call_id,
          name: item.name,
          ...(isPresent(item.namespace) ? { namespace: item.namespace } : {}),
          arguments: argumentsText(item.arguments),
        });
      case "shell_call": {
        const { commands } = item.action;
        return this.addCall({ id: item.call_id, name: SHELL_TOOL, arguments: JSON.stringify({ commands }) });
      }
      case "custom_tool_call":
        return this.addCall(customCall(item));
      case "function_call_output":
      case "custom_tool_call_output":
        return this.addResult(item.call_id, contentOf(item.output ?? "", `${path}.output`));
      case "shell_call_output":
        return this.addResult(item.call_id, [{ type: "text", text: JSON.stringify(item.output) }]);
      default:
        return unreachable(item);
    }
  }

  private addHosted(item: HostedItem, path: string): void {
    const { call, result, compacted = [] } = hostedWork(item, path);
    for (const message of compacted) this.push(message);
    if (call !== undefined) this.addCall(call);
    if (result !== undefined) this.addResult(result.callId, result.content, result.foundTools);
  }

  private addMessage(item: MessageItem, path: string): void {
    const content = contentOf(item.content, `${path}.content`);
    if (item.role !== "user") refuseMedia(content, item.role);
    if (item.role !== "assistant") this.push({ role: item.role, content });
    else this.push({ role: "assistant", content, ...this.takeReasoning() });
  }

  private addCall(call: ToolCall): void {
    this.names.set(call.id, call.name);
    const last = this.messages.at(-1);
    if (last?.role !== "assistant" || this.reasoning !== undefined) {
      this.push({ role: "assistant", content: [], ...this.takeReasoning(), toolCalls: [call] });
    } else {
      this.messages[this.messages.length - 1] = { ...last, toolCalls: [...(last.toolCalls ?? []), call] };
    }
  }

  private addResult(callId: string, content: readonly InputPart[], foundTools?: readonly string[]): void {
    const name = this.names.get(callId);
    this.push({
      role: "tool",
      content,
      toolCallId: callId,
      ...defined({ name, foundTools }),
    });
  }

  /** Adds a message and drops reasoning that no assistant message has taken. */
  private push(message: InputMessage): void {
    this.reasoning = undefined;
    this.messages.push(message);
  }

  private takeReasoning(): { readonly reasoning?: string } {
    return defined({ reasoning: this.reasoning });
  }
}

/** Text of the reasoning, else its summary; encrypted reasoning is ignored. */
function reasoningText(item: Extract<InputItem, { type: "reasoning" }>): string | undefined {
  const content = (item.content ?? []).map(({ text }) => text).join("");
  const text = content === "" ? (item.summary ?? []).map((part) => part.text).join("\n") : content;
  return text === "" ? undefined : text;
}

/** Refuses images, audio and videos in messages of the assistant and the system. */
function refuseMedia(content: readonly InputPart[], role: string): void {
  const media = content.find((part) => part.type === "media");
  if (media === undefined) return;
  const { param } = media;
  const message = `${param} is an image, audio or a video, which is not allowed in a message with role "${role}"; send it with role "user"`;
  throw new ServiceError("invalid_request", message, { param });
}

function contentOf(content: MessageItem["content"], path: string): InputMessage["content"] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part, index) => partOf(part, `${path}[${index}]`));
}

type SentPart = Exclude<MessageItem["content"], string>[number];

function partOf(part: SentPart, param: string): InputPart {
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text":
      return { type: "text", text: part.text };
    case "refusal":
      return { type: "text", text: part.refusal };
    case "input_image":
      return namedMedia("image", imageSource(part, param), param);
    case "input_audio":
      return namedMedia("audio", audioSource(part, param), param);
    case "input_video":
      return namedMedia("video", videoSource(part, param), param);
    case "input_file":
      return { type: "file", source: sourceOf(part, param), param };
    default:
      return unreachable(part);
  }
}

function imageSource({ image_url: url, file_id: id }: InputImage, param: string): FileSource {
  if (isPresent(url) !== isPresent(id)) {
    if (isPresent(id)) return { type: "stored", id };
    if (isPresent(url)) return urlSource(url);
  }
  const message = `${param} must have exactly one of image_url and file_id`;
  throw new ServiceError("invalid_request", message, { param });
}

function audioSource({ data, input_audio: nested }: InputAudio, param: string): FileSource {
  const sent = data ?? nested?.data;
  if (isPresent(sent)) return { type: "inline", data: sent };
  throw new ServiceError("missing_field", `${param}.data is required`, { param: `${param}.data` });
}

function videoSource({ video_url: url, data, file_id: id }: InputVideo, param: string): FileSource {
  if ([url, data, id].filter(isPresent).length === 1) {
    if (isPresent(id)) return { type: "stored", id };
    if (isPresent(url)) return urlSource(url);
    if (isPresent(data)) return { type: "inline", data };
  }
  const message = `${param} must have exactly one of video_url, data and file_id`;
  throw new ServiceError("invalid_request", message, { param });
}

function sourceOf(
  { file_id: id, file_data: data, file_url: url, filename }: InputFile,
  param: string,
): FileSource {
  if ([id, data, url].filter(isPresent).length === 1) {
    if (isPresent(id)) return { type: "stored", id };
    if (isPresent(url)) return { type: "remote", url };
    if (isPresent(data)) return { type: "inline", data, ...(isPresent(filename) ? { filename } : {}) };
  }
  const message = `${param} must have exactly one of file_id, file_data and file_url`;
  throw new ServiceError("invalid_request", message, { param });
}
