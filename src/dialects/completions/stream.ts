// Encodes RunEvents as completion chunks. Guarantees: every choice ends with its finish reason, and the stream has exactly
// one end.

import { assert, unreachable } from "../../core/assert.ts";
import type { RunEvent, TokenLogprob } from "../../core/run.ts";
import type { AnswerMeta } from "../shared/answer.ts";
import { ChunkWriter } from "../shared/chunk-writer.ts";
import type { StreamEncoder } from "../shared/frame.ts";
import { usageBody } from "../shared/usage.ts";
import { LogprobsLayout } from "./logprobs.ts";
import type { CompletionLayout } from "./request.ts";

export interface CompletionStreamOptions {
  readonly layout: CompletionLayout;
  /** Send usage in a chunk without choices instead of on the final chunk of the last choice. */
  readonly includeUsage: boolean;
}

/** The chunk encoder of one request, whose runs are merged into one. */
export class CompletionStream implements StreamEncoder {
  private readonly writer: ChunkWriter;
  private readonly layout: CompletionLayout;
  private readonly logprobs: LogprobsLayout[] = []; // by choice
  private ended = false;

  constructor(meta: AnswerMeta, { layout, includeUsage }: CompletionStreamOptions) {
    const last = { text: "", logprobs: null };
    this.writer = new ChunkWriter(meta, { object: "text_completion", last, includeUsage });
    this.layout = layout;
  }

  /** Frames of one event; "" if it has none and for all events after the end. */
  encode(event: RunEvent): string {
    if (this.ended) return "";
    switch (event.type) {
      case "accepted":
      case "load_progress":
      case "prompt_progress":
        return "";
      case "text":
      case "reasoning": {
        const logprobs = this.logprobsText(event.choice, event.logprobs);
        const fields = `"text":${JSON.stringify(event.text)},"logprobs":${logprobs}`;
        return this.writer.delta(event.choice, fields);
      }
      case "tool_call_start":
      case "tool_call_args":
        assert(false, "tool call in a completion");
        return "";
      case "choice_end":
        return this.writer.end(event);
      case "finish":
        this.ended = true;
        return this.writer.finish(usageBody(event.usage, event.timings));
      case "error":
        this.ended = true;
        return this.writer.fail(event.error);
      default:
        return unreachable(event);
    }
  }

  private logprobsText(choice: number, tokens: readonly TokenLogprob[] | undefined): string {
    if (!this.layout.withLogprobs || tokens === undefined) return "null";
    const layout = (this.logprobs[choice] ??= new LogprobsLayout(this.layout.echo));
    return JSON.stringify(layout.next(tokens));
  }
}
