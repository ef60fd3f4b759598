// Converts content blocks to core messages. A tool result, on the wire a block of a user message, becomes a separate
// message. Adjacent messages of one role are merged, because many chat templates require alternating roles.
// A result with `is_error` begins with `Error: `, because no template has a field for it. The billing note of coding agents is dropped: it
// differs in every request, so no prefix would be found in the cache.

import type { FilePart, InputMessage, InputPart } from "../../core/agent.ts";
import { assert, unreachable } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import { isObject } from "../../core/json.ts";
import type { TextPart, ToolCall } from "../../core/message.ts";
import { argumentsText } from "../shared/call-arguments.ts";
import { isPresent, describeValue } from "../shared/check.ts";
import { fromOpaqueText, fromSummary, joinedOnce } from "../shared/compaction.ts";
import { foreignText } from "../shared/foreign.ts";
import { namedMedia, urlSource } from "../shared/media.ts";
import type {
  ContentBlock,
  DocumentBlock,
  HostedResultBlock,
  HostedUseBlock,
  ImageBlock,
  Message,
  MessageContent,
  NoteBlock,
  Source,
  System,
  TextBlock,
  ToolResultBlock,
  ToolUseBlock,
} from "./blocks.ts";

/** The conversation of a checked body. Throws for blocks that are not allowed in a message of their role. */
export function conversationOf(
  system: System | null | undefined,
  messages: readonly Message[],
): readonly InputMessage[] {
  const names = new Map<string, string>(); // tool names of earlier calls, by call id
  const convert = (message: Message, path: string): readonly InputMessage[] => {
    switch (message.role) {
      case "system":
        return [{ role: message.role, content: blocksOf(message.content).map(onlyText("system", path)) }];
      case "user":
        return userMessages(message.content, path, names);
      case "assistant":
        return assistantMessages(message.content, path, names);
      default:
        return unreachable(message.role);
    }
  };
  const all = messages.map((message, index) => convert(message, `messages[${index}].content`));
  const at = messages.findLastIndex(isPause);
  const before = all.slice(0, Math.max(0, at)).flat();
  const last = joinedOnce(all[at] ?? [], all.slice(at + 1).flat());
  return mergeAdjacent([...systemMessages(system), ...before, ...last]);
}

/** Whether an answer was paused after a compaction: clients may send the last turns again behind it, which it has verbatim. */
function isPause({ role, content }: Message): boolean {
  const [first, ...others] = blocksOf(content);
  return role === "assistant" && first?.type === "compaction" && others.length === 0;
}

/**
 * First characters of the billing block that a coding agent sends. It differs in each request, which would defeat the
 * prefix cache, and is not meant for the model.
 */
const BILLING_HEADER = "x-anthropic-billing-header:";

function systemMessages(system: System | null | undefined): InputMessage[] {
  const blocks = isPresent(system) ? blocksOf(system) : [];
  const content = blocks.filter(({ text }) => text !== "" && !text.startsWith(BILLING_HEADER)).map(textPart);
  return content.length === 0 ? [] : [{ role: "system", content }];
}

function blocksOf<B>(content: string | readonly B[] | null): readonly (B | TextBlock)[] {
  if (content === null) return [];
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function textPart({ text }: TextBlock): TextPart {
  return { type: "text", text };
}

/** Converts a block where only text is allowed. */
function onlyText(role: string, path: string) {
  return (block: ContentBlock, index: number): TextPart => {
    if (block.type === "text") return textPart(block);
    throw misplaced(block.type, role, `${path}[${index}]`);
  };
}

/** Tool results, and user messages from the blocks between and after them. */
function userMessages(
  content: MessageContent | null,
  path: string,
  names: ReadonlyMap<string, string>,
): InputMessage[] {
  const messages: InputMessage[] = [];
  let parts: InputPart[] = [];
  const flush = () => {
    if (parts.length > 0) messages.push({ role: "user", content: parts });
    parts = [];
  };
  for (const [index, block] of blocksOf(content).entries()) {
    const param = `${path}[${index}]`;
    if (block.type === "tool_result") {
      flush();
      messages.push(toolMessage(block, param, names));
    } else if (isHostedResult(block)) {
      flush();
      messages.push(hostedResult(block, names));
    } else parts.push(...userParts(block, param));
  }
  flush();
  return messages.length > 0 ? messages : [{ role: "user", content: [] }];
}

type UserBlock = Exclude<ContentBlock, ToolResultBlock | HostedResultBlock>;

function userParts(block: UserBlock, param: string): readonly InputPart[] {
  switch (block.type) {
    case "text":
      return [textPart(block)];
    case "compaction":
    case "container_upload":
    case "search_result":
    case "tool_reference":
      return [noteText(block)];
    case "image":
      return [imagePart(block, param)];
    case "document":
      return documentParts(block, param);
    case "tool_use":
    case "server_tool_use":
    case "mcp_tool_use":
    case "thinking":
    case "redacted_thinking":
      throw misplaced(block.type, "user", param);
    default:
      return unreachable(block);
  }
}

function toolMessage(
  block: ToolResultBlock,
  param: string,
  names: ReadonlyMap<string, string>,
): InputMessage {
  const name = names.get(block.tool_use_id);
  const parts = blocksOf(block.content ?? "").flatMap((part, index) =>
    resultParts(part, `${param}.content[${index}]`),
  );
  return {
    role: "tool",
    content: block.is_error === true ? [{ type: "text", text: "Error: " }, ...parts] : parts,
    toolCallId: block.tool_use_id,
    ...defined({ name }),
    ...foundTools(blocksOf(block.content ?? "")),
  };
}

type ResultBlock = Exclude<ToolResultBlock["content"], string | null | undefined>[number];

/** The parts of a result; a document that is sent as text is the text. */
function resultParts(block: ResultBlock, param: string): readonly InputPart[] {
  if (block.type !== "document") return userParts(block, param);
  const { source } = block;
  const isText = source.type === "text" || source.type === "content";
  return isText ? [{ type: "text", text: textOf(source) }] : documentParts(block, param);
}

function imagePart({ source }: ImageBlock, param: string): InputPart {
  switch (source.type) {
    case "base64":
      return namedMedia("image", { type: "inline", data: source.data }, param);
    case "url":
      return namedMedia("image", urlSource(source.url), param);
    case "file":
      return namedMedia("image", { type: "stored", id: source.file_id }, param);
    case "text":
    case "content": {
      const path = `${param}.source.type`;
      const message = `${path} must be one of "base64", "url", "file"; got "${source.type}"`;
      throw new ServiceError("unsupported_value", message, { param: path });
    }
    default:
      return unreachable(source);
  }
}

function documentParts(block: DocumentBlock, param: string): readonly InputPart[] {
  const about: InputPart[] = isPresent(block.context) ? [{ type: "text", text: block.context }] : [];
  return [...about, { type: "file", source: fileSource(block), param, isWhole: true }];
}

function fileSource({ source, title }: DocumentBlock): FilePart["source"] {
  const named = isPresent(title) ? { filename: title } : {};
  switch (source.type) {
    case "base64": {
      const head = isPresent(source.media_type) ? `data:${source.media_type};base64,` : "";
      return { type: "inline", data: head + source.data, ...named };
    }
    case "text":
    case "content": {
      const data = Buffer.from(textOf(source)).toString("base64");
      return { type: "inline", data: `data:text/plain;base64,${data}`, ...named };
    }
    case "url":
      return { type: "remote", url: source.url };
    case "file":
      return { type: "stored", id: source.file_id };
    default:
      return unreachable(source);
  }
}

function textOf(source: Extract<Source, { type: "text" | "content" }>): string {
  if (source.type === "text") return source.data;
  return blocksOf(source.content)
    .map(({ text }) => text)
    .join("\n");
}

/** The message of the assistant; with results of another server's tools in it, the messages between and after them. */
function assistantMessages(
  content: MessageContent | null,
  path: string,
  names: Map<string, string>,
): readonly InputMessage[] {
  const messages: InputMessage[] = [];
  let answer = new AssistantParts();
  for (const [index, block] of blocksOf(content).entries()) {
    if (isHostedResult(block)) {
      messages.push(...answer.messages(), hostedResult(block, names));
      answer = new AssistantParts();
    } else if (block.type === "compaction") {
      messages.push(...answer.messages(), ...compactedMessages(block));
      answer = new AssistantParts();
    } else answer.add(block, `${path}[${index}]`, names);
  }
  const last = answer.messages();
  return messages.length === 0 && last.length === 0
    ? [{ role: "assistant", content: [] }]
    : [...messages, ...last];
}

class AssistantParts {
  private readonly parts: TextPart[] = [];
  private readonly reasoning: string[] = [];
  private readonly toolCalls: ToolCall[] = [];

  add(block: Exclude<ContentBlock, HostedResultBlock>, param: string, names: Map<string, string>): void {
    switch (block.type) {
      case "text":
        this.parts.push(textPart(block));
        return;
      case "compaction":
      case "container_upload":
      case "search_result":
      case "tool_reference":
        this.parts.push(noteText(block));
        return;
      case "thinking":
        this.reasoning.push(block.thinking);
        return;
      case "redacted_thinking":
        return; // encrypted by its vendor
      case "tool_use":
      case "server_tool_use":
      case "mcp_tool_use":
        names.set(block.id, block.name);
        this.toolCalls.push(toolCall(block));
        return;
      case "image":
      case "document":
      case "tool_result":
        throw misplaced(block.type, "assistant", param);
      default:
        unreachable(block);
    }
  }

  /** The message, if it says anything. */
  messages(): readonly InputMessage[] {
    const { parts, reasoning, toolCalls } = this;
    if (parts.length + reasoning.length + toolCalls.length === 0) return [];
    return [
      {
        role: "assistant",
        content: parts,
        ...(reasoning.length > 0 ? { reasoning: reasoning.join("\n") } : {}),
        ...(toolCalls.length > 0 ? { toolCalls } : {}),
      },
    ];
  }
}

function isHostedResult(block: ContentBlock): block is HostedResultBlock {
  return block.type.endsWith("_tool_result");
}

/** The result of another server's tool, as that of any tool. */
function hostedResult(block: HostedResultBlock, names: ReadonlyMap<string, string>): InputMessage {
  const name = names.get(block.tool_use_id);
  const failed = block.is_error === true ? "Error: " : "";
  const content = [{ type: "text", text: failed + foreignText(block.content) }] as const;
  const references = isObject(block.content) ? block.content["tool_references"] : undefined;
  const found = foundTools(Array.isArray(references) ? references : []);
  return { role: "tool", content, toolCallId: block.tool_use_id, ...defined({ name }), ...found };
}

/** The tools that a result refers to. */
function foundTools(blocks: readonly unknown[]): Pick<InputMessage, "foundTools"> {
  const names = blocks.flatMap((block) => {
    if (!isObject(block) || block["type"] !== "tool_reference") return [];
    const name = block["tool_name"];
    return typeof name === "string" ? [name] : [];
  });
  return names.length === 0 ? {} : { foundTools: names };
}

/** The conversation that a compaction stands for, which is all before it. */
function compactedMessages(block: NoteBlock): readonly InputMessage[] {
  const { content, encrypted_content: opaque }: Readonly<Record<string, unknown>> = block;
  const kept = fromOpaqueText(opaque);
  if (kept !== undefined) return kept;
  return typeof content === "string" && content !== "" ? [fromSummary(content)] : [];
}

/** The text of a block whose fields are its own. */
function noteText(block: NoteBlock): TextPart {
  const { type, cache_control: _, citations: __, ...fields } = block;
  const { content, tool_name: tool }: Readonly<Record<string, unknown>> = fields;
  if (type === "tool_reference" && typeof tool === "string") return { type: "text", text: `Tool: ${tool}` };
  if (type === "compaction") return { type: "text", text: foreignText(content) };
  return { type: "text", text: `${type.replace("_", " ")}: ${foreignText(fields)}` };
}

function toolCall({ id, name, input }: ToolUseBlock | HostedUseBlock): ToolCall {
  return { id, name, arguments: argumentsText(input) };
}

/** Merges adjacent messages of one role, except tool results, and separates their texts. */
function mergeAdjacent(messages: readonly InputMessage[]): readonly InputMessage[] {
  const groups: InputMessage[][] = [];
  for (const message of messages) {
    const group = groups.at(-1);
    const isApart = message.role === "tool" || message.replacesEarlier === true;
    if (group?.[0]?.role === message.role && !isApart) group.push(message);
    else groups.push([message]);
  }
  return groups.map(joinGroup);
}

function joinGroup(group: readonly InputMessage[]): InputMessage {
  const content = separateTexts(group.flatMap((message) => message.content));
  const [first] = group;
  assert(first !== undefined, "a group is never empty");
  if (group.length === 1) return { ...first, content };
  const reasoning = group.flatMap((message) => message.reasoning ?? []);
  const toolCalls = group.flatMap((message) => message.toolCalls ?? []);
  return {
    role: first.role,
    content,
    ...defined({ replacesEarlier: first.replacesEarlier }),
    ...(reasoning.length > 0 ? { reasoning: reasoning.join("\n") } : {}),
    ...(toolCalls.length > 0 ? { toolCalls } : {}),
  };
}

/** Templates concatenate the parts of a message, so adjacent texts get a line break between them unless they have space. */
function separateTexts(parts: readonly InputPart[]): readonly InputPart[] {
  return parts.flatMap((part, index): readonly InputPart[] => {
    const before = parts[index - 1];
    if (part.type !== "text" || before?.type !== "text") return [part];
    const touching = isNonSpace(before.text.at(-1)) && isNonSpace(part.text.at(0));
    return touching ? [{ type: "text", text: "\n" }, part] : [part];
  });
}

function isNonSpace(character: string | undefined): boolean {
  return character !== undefined && character.trim() !== "";
}

function misplaced(type: string, role: string, path: string): ServiceError {
  const message = `${path} has type ${describeValue(type)}, which is not allowed in a message with role "${role}"`;
  return new ServiceError("invalid_request", message, { param: path });
}
