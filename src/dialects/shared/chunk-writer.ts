// Chunks of a chat or completions stream as frames. Guarantees: usage is sent exactly once, before the one end, which is
// `data: [DONE]`.
//
// A frame is made for every token of every stream, so the constant text of a chunk is built once a choice and only
// what is new is serialised. Tests check that this equals JSON of the plain object.

import { type ErrorData, ServiceError } from "../../core/error.ts";
import type { FinishReason } from "../../core/run.ts";
import { answerHead, type AnswerMeta } from "./answer.ts";
import { dataFrame, DONE_FRAME } from "./frame.ts";
import type { CompletionUsageResponse } from "./usage.ts";

export interface ChunkOptions {
  /** The `object` of a chunk. */
  readonly object: string;
  /** What a choice's last chunk holds apart from `index` and `finish_reason`. */
  readonly last: object;
  /** Usage in a chunk without choices instead of on the last choice's final chunk. */
  readonly includeUsage: boolean;
}

interface EndedChoice {
  readonly choice: number;
  readonly reason: FinishReason;
}

/** Writes the chunks of one answer. */
export class ChunkWriter {
  private readonly meta: AnswerMeta;
  private readonly options: ChunkOptions;
  /** Text of a chunk up to what is new, by choice. */
  private readonly heads: string[] = [];
  /** Text of an ordinary chunk after what is new. */
  private readonly tail: string;
  private sessionId: string | undefined;
  /** The last ended choice: its final chunk waits for the usage that may belong on it. */
  private held: EndedChoice | undefined;

  constructor(meta: AnswerMeta, options: ChunkOptions) {
    this.meta = meta;
    this.options = options;
    this.tail = `,"finish_reason":null}]${options.includeUsage ? ',"usage":null' : ""}}\n\n`;
  }

  /** Names the session in all later chunks. */
  setSession(id: string): void {
    this.sessionId = id;
    this.heads.length = 0;
  }

  /** A chunk of a choice that goes on; `fields` is JSON text of the choice's properties, without braces. */
  piece(choice: number, fields: string): string {
    return this.flush() + (this.heads[choice] ??= this.head(choice)) + fields + this.tail;
  }

  /** Ends a choice. */
  end(choice: number, reason: FinishReason): string {
    const frames = this.flush();
    this.held = { choice, reason };
    return frames;
  }

  /** Ends the stream. */
  finish(usage: CompletionUsageResponse): string {
    if (!this.options.includeUsage && this.held !== undefined) return this.flush(usage) + DONE_FRAME;
    return this.flush() + dataFrame(JSON.stringify({ ...this.chunk([]), usage })) + DONE_FRAME;
  }

  /** Ends the stream of a run that failed. */
  fail(error: ErrorData): string {
    const body = ServiceError.fromData(error).toBody();
    return this.flush() + dataFrame(JSON.stringify(body)) + DONE_FRAME;
  }

  /** The fixed fields are serialised by JSON.stringify and cut open where `choices` begins to be filled. */
  private head(choice: number): string {
    const empty = JSON.stringify(this.chunk([]));
    const open = empty.slice(0, -"]}".length); // `choices` is the last field
    return `data: ${open}{"index":${choice},`;
  }

  private chunk(choices: readonly object[]) {
    return {
      ...answerHead(this.meta, this.options.object),
      ...(this.sessionId === undefined ? {} : { session_id: this.sessionId }),
      choices,
    };
  }

  /** The final chunk of the choice that ended last, if it still waits. */
  flush(usage?: CompletionUsageResponse): string {
    if (this.held === undefined) return "";
    const { choice, reason } = this.held;
    this.held = undefined;
    const chunk = this.chunk([{ index: choice, ...this.options.last, finish_reason: reason }]);
    if (this.options.includeUsage) return dataFrame(JSON.stringify({ ...chunk, usage: null }));
    return dataFrame(JSON.stringify(usage === undefined ? chunk : { ...chunk, usage }));
  }
}
