// Converts events of a streamed message (Messages API) to chunks of a chat completion.
// Source: Anthropic's reference of streaming messages, version 2023-06-01.

import { StreamError } from "./sse.ts";
import {
  callDelta,
  deltaChunk,
  END,
  type EventReading,
  type MessagesEvent,
  progressChunk,
  readMessagesEvent,
  type WireChunk,
  type WireDelta,
} from "./wire.ts";

/** Reads the events of one message. */
export class MessagesEvents {
  /** Token counts so far: those of the prompt come first, those of the answer last. */
  private usage: NonNullable<MessagesEvent["usage"]> = {};
  /** Tool calls of which no arguments have come, by the index of their block. */
  private readonly bare = new Set<number>();

  /** The chunk of an event, END after the last one; undefined for events without one. Throws StreamError. */
  read(json: unknown): EventReading {
    const event = readMessagesEvent(json);
    if (event === undefined) throw new StreamError("sent an event that is not one of a message");
    switch (event.type) {
      case "error":
        return { error: event.error ?? {} };
      case "ping":
        return progressChunk(event);
      case "message_start":
        this.usage = event.message?.usage ?? {};
        return undefined;
      case "message_delta":
        return this.ending(event);
      case "message_stop":
        return END;
      default:
        return deltaChunk(this.deltaOf(event));
    }
  }

  private deltaOf({ type, index, content_block: block, delta }: MessagesEvent): WireDelta | undefined {
    const at = index ?? 0;
    if (type === "content_block_start" && block?.type === "tool_use") {
      this.bare.add(at);
      return callDelta(at, "", { id: block.id ?? "", name: block.name ?? "" });
    }
    if (type === "content_block_start" && block?.type === "text") return { content: block.text ?? "" };
    // A call without arguments has no delta, or empty ones.
    if (type === "content_block_stop" && this.bare.delete(at)) return callDelta(at, "{}");
    return type === "content_block_delta" ? this.partOf(at, delta ?? {}) : undefined;
  }

  private partOf(at: number, delta: NonNullable<MessagesEvent["delta"]>): WireDelta | undefined {
    switch (delta.type ?? "") {
      case "text_delta":
        return { content: delta.text ?? "" };
      case "thinking_delta":
        return { reasoning_content: delta.thinking ?? "" };
      case "input_json_delta": {
        const part = delta.partial_json ?? "";
        if (part !== "") this.bare.delete(at);
        return callDelta(at, part);
      }
      default:
        return undefined;
    }
  }

  private ending({ delta, usage }: MessagesEvent): WireChunk {
    this.usage = { ...this.usage, ...usage };
    const { input_tokens: read, cache_read_input_tokens: cached, output_tokens: written } = this.usage;
    const kept = this.usage.cache_creation_input_tokens ?? 0;
    const reason = delta?.stop_reason ?? undefined;
    return {
      ...(reason === undefined
        ? {}
        : {
            choices: [
              {
                finish_reason: reason,
                stop_reason: delta?.stop_sequence,
                fingerprint: delta?.fingerprint ?? null,
              },
            ],
          }),
      usage: {
        prompt_tokens: (read ?? 0) + (cached ?? 0) + kept,
        prompt_tokens_details: { cached_tokens: cached ?? 0 },
        completion_tokens: written ?? 0,
      },
    };
  }
}
