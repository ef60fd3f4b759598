// Shows the changes of an answer as completion chunks. Guarantees: every choice ends with its finish reason, and the stream has
// exactly one end.

import { assert } from "../../core/assert.ts";
import type { ErrorData } from "../../core/error.ts";
import type { RunEvent, TokenLogprob } from "../../core/run.ts";
import type { AnswerMeta } from "../shared/answer.ts";
import {
  type AnswerBlock,
  type AnswerChanges,
  AnswerReducer,
  type Ending,
} from "../shared/answer-reducer.ts";
import { ChunkWriter } from "../shared/chunk-writer.ts";
import { usageBody } from "../shared/usage.ts";
import { LogprobsLayout } from "./logprobs.ts";
import type { CompletionLayout } from "./request.ts";

export interface CompletionStreamOptions {
  readonly layout: CompletionLayout;
  /** Choices of all runs. */
  readonly choices: number;
  /** Send usage in a chunk without choices instead of on the final chunk of the last choice. */
  readonly includeUsage: boolean;
}

/** The stream of one request, whose runs are merged into one. */
export function completionStream(meta: AnswerMeta, options: CompletionStreamOptions): AnswerReducer {
  const { choices } = options;
  return new AnswerReducer({ choices, changes: new CompletionChunks(meta, options) });
}

class CompletionChunks implements AnswerChanges {
  private readonly writer: ChunkWriter;
  private readonly layout: CompletionLayout;
  private readonly logprobs: LogprobsLayout[] = []; // by choice

  constructor(meta: AnswerMeta, { layout, includeUsage }: CompletionStreamOptions) {
    const last = { text: "", logprobs: null };
    this.writer = new ChunkWriter(meta, { object: "text_completion", last, includeUsage });
    this.layout = layout;
  }

  opened({ type }: AnswerBlock): string {
    assert(type !== "call", "tool call in a completion");
    return "";
  }

  delta({ choice }: AnswerBlock, text: string, tokens: readonly TokenLogprob[] | undefined): string {
    const fields = `"text":${JSON.stringify(text)},"logprobs":${this.logprobsText(choice, tokens)}`;
    return this.writer.delta(choice, fields);
  }

  ended(event: Ending): string {
    return this.writer.end(event);
  }

  finished({ usage, timings }: Extract<RunEvent, { type: "finish" }>): string {
    return this.writer.finish(usageBody(usage, timings));
  }

  failed(error: ErrorData): string {
    return this.writer.fail(error);
  }

  private logprobsText(choice: number, tokens: readonly TokenLogprob[] | undefined): string {
    if (!this.layout.withLogprobs || tokens === undefined) return "null";
    const layout = (this.logprobs[choice] ??= new LogprobsLayout(this.layout.echo));
    return JSON.stringify(layout.next(tokens));
  }
}
