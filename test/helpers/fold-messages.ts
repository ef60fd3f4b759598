// Puts a streamed messages answer together the way the official client does, so that it can be compared with the body.
// Stricter than the client: blocks must come one after the other, each with deltas of its own kind only.

import type { FileObject } from "../../src/core/agent.ts";
import { defined } from "../../src/core/defined.ts";
import { isObject } from "../../src/core/json.ts";
import type { MessagesResponse, MessagesStreamEvent } from "../../src/dialects/messages/answer.ts";
import { parseSse } from "./sse.ts";

type Draft = MessagesResponse["content"][number];

interface OpenBlock {
  readonly index: number;
  readonly block: Draft;
  text: string;
  signature: string;
}

const KINDS = { text: "text_delta", thinking: "thinking_delta", tool_use: "input_json_delta" } as const;

/** The events of a stream; throws where a name and its data differ, and for data without a name. */
export function messagesEvents(stream: string): readonly MessagesStreamEvent[] {
  return parseSse(stream)
    .events.filter(({ event }) => !event.startsWith("agentic_") && event !== "file_produced")
    .map(({ event, data }) => {
      const parsed = JSON.parse(data) as MessagesStreamEvent; // what it is, the fold finds out
      if (parsed.type !== event) throw new Error(`the event ${event} says that it is a ${parsed.type}`);
      return parsed;
    });
}

/** The body that a stream adds up to. Throws when its events come in an order that they must not have. */
export function foldMessages(stream: string): MessagesResponse {
  const fold = new Fold();
  for (const event of messagesEvents(stream)) fold.add(event);
  const files = parseSse(stream)
    .events.filter(({ event }) => event === "file_produced")
    .map(({ data }) => JSON.parse(data) as FileObject);
  return { ...fold.body(), ...(files.length === 0 ? {} : { files }) };
}

class Fold {
  private start: Extract<MessagesStreamEvent, { type: "message_start" }>["message"] | undefined;
  private end: Extract<MessagesStreamEvent, { type: "message_delta" }> | undefined;
  private readonly content: Draft[] = [];
  private open: OpenBlock | undefined;
  private stopped = false;

  add(event: MessagesStreamEvent): void {
    if (event.type === "ping") return;
    if (this.stopped) throw new Error(`${event.type} after the end`);
    if ((this.start === undefined) !== (event.type === "message_start"))
      throw new Error("message_start comes once, first");
    switch (event.type) {
      case "message_start":
        this.start = event.message;
        return;
      case "content_block_start":
        return this.begin(event);
      case "content_block_delta":
        return this.grow(event);
      case "content_block_stop":
        return this.finish(event);
      case "message_delta":
        if (this.open !== undefined || this.end !== undefined)
          throw new Error("message_delta comes too early");
        this.end = event;
        return;
      case "message_stop":
        if (this.end === undefined) throw new Error("message_stop without message_delta");
        this.stopped = true;
        return;
      case "error":
        throw new Error(event.error.message);
    }
  }

  body(): MessagesResponse {
    if (this.start === undefined || this.end === undefined || !this.stopped) throw new Error("no end");
    const { stop_reason, stop_sequence, session_id, fingerprint } = this.end.delta;
    const { usage, context_management } = this.end;
    const extensions = defined({ session_id, fingerprint, context_management });
    return { ...this.start, content: this.content, stop_reason, stop_sequence, usage, ...extensions };
  }

  private begin({ index, content_block }: Extract<MessagesStreamEvent, { type: "content_block_start" }>) {
    if (this.open !== undefined || index !== this.content.length) throw new Error("a block begins too early");
    this.open = { index, block: content_block, text: "", signature: "" };
  }

  private grow({ index, delta }: Extract<MessagesStreamEvent, { type: "content_block_delta" }>) {
    const { open } = this;
    if (open?.index !== index) throw new Error("a delta of a block that is not open");
    if (delta.type === "signature_delta") open.signature = delta.signature;
    else if (delta.type === "compaction_delta") {
      if (open.block.type !== "compaction") throw new Error("a compaction in another block");
      this.open = { ...open, block: { ...open.block, ...delta, type: "compaction" } };
    } else if (open.block.type === "compaction") throw new Error("a delta in a compaction");
    else if (open.block.type === "server_tool_use" || open.block.type === "tool_search_tool_result")
      throw new Error("a delta of a block that comes whole");
    else if (delta.type !== KINDS[open.block.type]) throw new Error(`${delta.type} in ${open.block.type}`);
    else if (delta.type === "text_delta") open.text += delta.text;
    else if (delta.type === "thinking_delta") open.text += delta.thinking;
    else open.text += delta.partial_json;
  }

  private finish({ index }: Extract<MessagesStreamEvent, { type: "content_block_stop" }>) {
    const { open } = this;
    if (open?.index !== index) throw new Error("a block stops that is not open");
    this.open = undefined;
    this.content.push(whole(open));
  }
}

function whole({ block, text, signature }: OpenBlock): Draft {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text + text };
    case "thinking":
      return { type: "thinking", thinking: block.thinking + text, signature };
    case "tool_use":
      return { ...block, input: text === "" ? block.input : parsed(text) };
    case "compaction":
    case "server_tool_use":
    case "tool_search_tool_result":
      return block;
  }
}

function parsed(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) ? { ...value } : {};
  } catch {
    return {}; // cut off
  }
}
