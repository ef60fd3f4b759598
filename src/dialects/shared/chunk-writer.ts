// Serializes chunks of a chat or completions stream. Guarantees: usage is sent exactly once, before the single
// `data: [DONE]`.
//
// Every token of every stream makes a frame, so the constant text of a chunk is built once per choice and only the delta
// is serialized. Tests check that the result equals the JSON of the plain object.

import { defined } from "../../core/defined.ts";
import { type ErrorData, ServiceError } from "../../core/error.ts";
import type { RunEvent } from "../../core/run.ts";
import { answerHead, type AnswerMeta } from "./answer.ts";
import { dataFrame, DONE_FRAME } from "./frame.ts";
import type { CompletionUsageResponse } from "./usage.ts";

export interface ChunkOptions {
  /** Value of `object` in each chunk. */
  readonly object: string;
  /** Fields of a choice's final chunk besides `index` and `finish_reason`. */
  readonly last: object;
  /** Send usage in a chunk without choices instead of on the final chunk of the last choice. */
  readonly includeUsage: boolean;
}

type EndedChoice = Omit<Extract<RunEvent, { type: "choice_end" }>, "type">;

/** Writes the chunks of one answer. */
export class ChunkWriter {
  private readonly meta: AnswerMeta;
  private readonly options: ChunkOptions;
  /** Text of a chunk before the delta, by choice. */
  private readonly heads: string[] = [];
  /** Text of a chunk after the delta. */
  private readonly tail: string;
  private extras: object = {};
  /** The choice that ended last; its final chunk is held back because it may have to carry the usage. */
  private pendingEnd: EndedChoice | undefined;

  constructor(meta: AnswerMeta, options: ChunkOptions) {
    this.meta = meta;
    this.options = options;
    this.tail = `,"finish_reason":null}]${options.includeUsage ? ',"usage":null' : ""}}\n\n`;
  }

  /** Adds fields of the answer to all later chunks. */
  addFields(fields: object): void {
    this.extras = { ...this.extras, ...fields };
    this.heads.length = 0;
  }

  /** A chunk of a choice that has not ended; `fields` is the JSON text of its properties, without braces. */
  delta(choice: number, fields: string): string {
    const frame = (this.heads[choice] ??= this.head(choice)) + fields + this.tail;
    return this.pendingEnd === undefined ? frame : this.flush() + frame;
  }

  /** A chunk with an empty delta of the first choice, and further fields. */
  note(fields: object): string {
    const chunk = { ...this.chunk([{ index: 0, delta: {}, finish_reason: null }]), ...fields };
    const usage = this.options.includeUsage ? { usage: null } : {};
    return this.flush() + dataFrame(JSON.stringify({ ...chunk, ...usage }));
  }

  /** Ends a choice. */
  end({ choice, reason, stop, fingerprint }: EndedChoice): string {
    const frames = this.flush();
    this.pendingEnd = { choice, reason, ...defined({ stop, fingerprint }) };
    return frames;
  }

  /** Ends the stream. */
  finish(usage: CompletionUsageResponse): string {
    if (!this.options.includeUsage && this.pendingEnd !== undefined) return this.flush(usage) + DONE_FRAME;
    return this.flush() + dataFrame(JSON.stringify({ ...this.chunk([]), usage })) + DONE_FRAME;
  }

  /** Ends the stream of a failed run. */
  fail(error: ErrorData): string {
    const body = ServiceError.fromData(error).toBody();
    return this.flush() + dataFrame(JSON.stringify(body)) + DONE_FRAME;
  }

  /** The constant fields, serialized by JSON.stringify and cut after the opening bracket of `choices`. */
  private head(choice: number): string {
    const empty = JSON.stringify(this.chunk([]));
    const open = empty.slice(0, -"]}".length); // `choices` is the last field
    return `data: ${open}{"index":${choice},`;
  }

  private chunk(choices: readonly object[]) {
    return {
      ...answerHead(this.meta, this.options.object),
      ...this.extras,
      choices,
    };
  }

  /** The held-back final chunk of the choice that ended last, if any. */
  flush(usage?: CompletionUsageResponse): string {
    if (this.pendingEnd === undefined) return "";
    const { choice, reason, stop, fingerprint } = this.pendingEnd;
    this.pendingEnd = undefined;
    const end = { finish_reason: reason, ...defined({ stop_reason: stop, fingerprint }) };
    const chunk = this.chunk([{ index: choice, ...this.options.last, ...end }]);
    if (this.options.includeUsage) return dataFrame(JSON.stringify({ ...chunk, usage: null }));
    return dataFrame(JSON.stringify(usage === undefined ? chunk : { ...chunk, usage }));
  }
}
