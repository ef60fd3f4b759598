// Items → messages. Used for what a client sends and for what a stored response is continued with, so both mean the same.

import type { FilePart, FileSource, InputMessage } from "../../core/agent.ts";
import { unreachable } from "../../core/assert.ts";
import { ServiceError } from "../../core/error.ts";
import type { ContentPart, ToolCall } from "../../core/message.ts";
import { isPresent } from "../shared/check.ts";
import type { InputFile, InputItem, MessageItem } from "./input-items.ts";
import type { OutputItem } from "./output-items.ts";

/** The name under which models know the shell. */
const SHELL_TOOL = "svc_shell";

/** The messages that items stand for. `path` is where the items stand in the body, for errors about files. */
export function messagesOf(items: readonly InputItem[], path = "input"): readonly InputMessage[] {
  const reader = new ItemReader();
  for (const [index, item] of items.entries()) reader.add(item, `${path}[${index}]`);
  return reader.messages;
}

/** The messages that an answer adds to its conversation. What broke off in the middle of a call was not called. */
export function answerMessages(output: readonly OutputItem[]): readonly InputMessage[] {
  return messagesOf(output.filter((item) => item.type === "message" || item.status !== "incomplete"));
}

/** Reasoning and calls join the assistant's message that they belong to: templates know them as parts of it. */
class ItemReader {
  readonly messages: InputMessage[] = [];
  /** Of reasoning that waits for what it led to. */
  private reasoning: string | undefined;
  private readonly names = new Map<string, string>();

  add(item: InputItem, path: string): void {
    switch (item.type) {
      case "message":
        return this.addMessage(item, path);
      case "reasoning":
        this.reasoning = reasoningText(item);
        return;
      case "function_call":
        return this.addCall({ id: item.call_id, name: item.name, arguments: item.arguments || "{}" });
      case "shell_call": {
        const { commands } = item.action;
        return this.addCall({ id: item.call_id, name: SHELL_TOOL, arguments: JSON.stringify({ commands }) });
      }
      case "function_call_output":
        return this.addResult(
          item.call_id,
          typeof item.output === "string" ? [item.output] : item.output.map(({ text }) => text),
        );
      case "shell_call_output":
        return this.addResult(item.call_id, [JSON.stringify(item.output)]);
      default:
        return unreachable(item);
    }
  }

  private addMessage(item: MessageItem, path: string): void {
    const content = contentOf(item.content, `${path}.content`);
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

  private addResult(callId: string, texts: readonly string[]): void {
    const name = this.names.get(callId);
    this.push({
      role: "tool",
      content: texts.map((text) => ({ type: "text", text })),
      toolCallId: callId,
      ...(name === undefined ? {} : { name }),
    });
  }

  /** Reasoning that led to nothing is dropped with the turn. */
  private push(message: InputMessage): void {
    this.reasoning = undefined;
    this.messages.push(message);
  }

  private takeReasoning(): { readonly reasoning?: string } {
    return this.reasoning === undefined ? {} : { reasoning: this.reasoning };
  }
}

/** The reasoning itself, or else its summary; what is encrypted cannot be read here. */
function reasoningText(item: Extract<InputItem, { type: "reasoning" }>): string | undefined {
  const content = (item.content ?? []).map(({ text }) => text).join("");
  const text = content === "" ? (item.summary ?? []).map((part) => part.text).join("\n") : content;
  return text === "" ? undefined : text;
}

function contentOf(content: MessageItem["content"], path: string): InputMessage["content"] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part, index) => partOf(part, `${path}[${index}]`));
}

type SentPart = Exclude<MessageItem["content"], string>[number];

function partOf(part: SentPart, param: string): ContentPart | FilePart {
  if (part.type === "refusal") return { type: "text", text: part.refusal };
  if (part.type !== "input_file") return { type: "text", text: part.text };
  return { type: "file", source: sourceOf(part, param), param };
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
