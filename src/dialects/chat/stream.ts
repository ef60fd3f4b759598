// RunEvents → chat-completion chunks as frames. Guarantees: every choice starts with the role, ends with its finish
// reason, and the stream has exactly one end, which is `data: [DONE]`.
//
// A frame is made for every token of every stream, so the constant text of a chunk is built once a choice and only
// the delta's text is serialised. test/dialects/chat-stream.test.ts checks that this equals JSON of the plain object.

import { unreachable } from "../../core/assert.ts";
import { type ErrorData, ServiceError } from "../../core/error.ts";
import type { FinishReason, RunEvent } from "../../core/run.ts";
import { dataFrame, DONE_FRAME, type StreamEncoder } from "../shared/frame.ts";
import { type CompletionUsageResponse, usageBody } from "../shared/usage.ts";
import type { ChatCompletionChunkDelta, ChatCompletionChunkResponse } from "./schema.ts";

/** What all chunks and the body of one answer share. */
export interface AnswerMeta {
  /** `chatcmpl-…` */
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** Id of the answering model. */
  readonly model: string;
  readonly fingerprint: string;
}

export interface ChatStreamOptions {
  /** Number of choices; each starts with a chunk of its own. */
  readonly choices: number;
  /** Usage in a chunk without choices instead of on the last choice's final chunk. */
  readonly includeUsage: boolean;
}

interface EndedChoice {
  readonly choice: number;
  readonly reason: FinishReason;
}

/** The chunk encoder of one run. */
export class ChatStream implements StreamEncoder {
  private readonly meta: AnswerMeta;
  private readonly options: ChatStreamOptions;
  /** Text of a chunk up to the inside of `delta`, by choice. */
  private readonly heads: string[] = [];
  /** Text of an ordinary chunk after the inside of `delta`. */
  private readonly tail: string;
  /** The last ended choice: its final chunk waits for the usage that may belong on it. */
  private held: EndedChoice | undefined;
  private ended = false;

  constructor(meta: AnswerMeta, options: ChatStreamOptions) {
    this.meta = meta;
    this.options = options;
    this.tail = `},"finish_reason":null}]${options.includeUsage ? ',"usage":null' : ""}}\n\n`;
  }

  /** Frames for one event; "" when it has none and for anything after the end. */
  encode(event: RunEvent): string {
    if (this.ended) return "";
    switch (event.type) {
      case "accepted":
        return this.opening();
      case "text":
        return this.flush() + this.delta(event.choice, `"content":${JSON.stringify(event.text)}`);
      case "reasoning":
        return this.flush() + this.delta(event.choice, `"reasoning_content":${JSON.stringify(event.text)}`);
      case "tool_call_start": {
        const call = {
          index: event.index,
          id: event.id,
          type: "function",
          function: { name: event.name, arguments: "" },
        };
        return this.flush() + this.delta(event.choice, `"tool_calls":[${JSON.stringify(call)}]`);
      }
      case "tool_call_args": {
        const call = { index: event.index, function: { arguments: event.delta } };
        return this.flush() + this.delta(event.choice, `"tool_calls":[${JSON.stringify(call)}]`);
      }
      case "choice_end": {
        const frames = this.flush();
        this.held = event;
        return frames;
      }
      case "finish":
        this.ended = true;
        return this.closing(usageBody(event.usage, event.timings)) + DONE_FRAME;
      case "error":
        this.ended = true;
        return this.flush() + errorFrame(event.error) + DONE_FRAME;
      default:
        return unreachable(event);
    }
  }

  private opening(): string {
    let frames = "";
    for (let choice = 0; choice < this.options.choices; choice++) {
      frames += this.delta(choice, '"role":"assistant","content":""');
    }
    return frames;
  }

  private delta(choice: number, inside: string): string {
    return (this.heads[choice] ??= this.head(choice)) + inside + this.tail;
  }

  /** The fixed fields are serialised by JSON.stringify and cut open where `choices` begins to be filled. */
  private head(choice: number): string {
    const empty = JSON.stringify(this.chunk([]));
    const open = empty.slice(0, -"]}".length); // `choices` is the last field
    return `data: ${open}{"index":${choice},"delta":{`;
  }

  private chunk(choices: ChatCompletionChunkResponse["choices"]): ChatCompletionChunkResponse {
    return {
      id: this.meta.id,
      object: "chat.completion.chunk",
      created: this.meta.created,
      model: this.meta.model,
      system_fingerprint: this.meta.fingerprint,
      choices,
    };
  }

  /** The final chunk of the choice that ended last, if it still waits. */
  private flush(usage?: CompletionUsageResponse): string {
    if (this.held === undefined) return "";
    const { choice, reason } = this.held;
    this.held = undefined;
    const delta: ChatCompletionChunkDelta = {};
    const chunk = this.chunk([{ index: choice, delta, finish_reason: reason }]);
    if (this.options.includeUsage) return dataFrame(JSON.stringify({ ...chunk, usage: null }));
    return dataFrame(JSON.stringify(usage === undefined ? chunk : { ...chunk, usage }));
  }

  private closing(usage: CompletionUsageResponse): string {
    if (!this.options.includeUsage && this.held !== undefined) return this.flush(usage);
    return this.flush() + dataFrame(JSON.stringify({ ...this.chunk([]), usage }));
  }
}

function errorFrame(error: ErrorData): string {
  return dataFrame(JSON.stringify(ServiceError.fromData(error).toBody()));
}
