// What one answer may hold: an upstream decides how much it sends, and this server keeps it. Pure.

import type { RunRequest, TokenLogprob } from "../core/run.ts";
import { pieceChars } from "./carried.ts";
import { estimatedTokens } from "./estimate.ts";
import { argumentsOf } from "./forms.ts";
import {
  ANSWER_CALLS_MAX,
  ANSWER_CHARS_MAX,
  ANSWER_SPARE_CHARS,
  CHARS_PER_TOKEN_MAX,
  CHUNK_CHARS_MIN,
} from "./limits.ts";
import { StreamError } from "./sse.ts";
import type { WireDelta } from "./wire.ts";

/** What came in one chunk for one choice. */
interface Piece {
  readonly text: string;
  readonly reasoning: string;
  readonly logprobs: readonly TokenLogprob[] | undefined;
  readonly delta: WireDelta | undefined;
}

/** Of one answer; of all its choices. */
export class AnswerBudget {
  private left: number;
  private readonly tokens: number | undefined;

  constructor({ maxTokens, choices, echo, prompt }: RunRequest) {
    this.tokens = maxTokens;
    const echoed = echo === true ? estimatedTokens(prompt) : 0;
    const wanted = maxTokens === undefined ? Infinity : (maxTokens + echoed) * choices * CHARS_PER_TOKEN_MAX;
    this.left = Math.min(ANSWER_CHARS_MAX, wanted + ANSWER_SPARE_CHARS);
  }

  /** Of a chunk, whatever is in it. Throws StreamError for more of them than the answer can have. */
  chunk(): void {
    this.take(CHUNK_CHARS_MIN);
  }

  /** Throws StreamError for what is more than the answer can be. */
  spend({ text, reasoning, logprobs = [], delta }: Piece): void {
    let chars = text.length + reasoning.length;
    for (const { text: token, top } of logprobs) chars += token.length + top.length;
    if (delta !== undefined) chars += pieceChars(delta);
    for (const call of delta?.tool_calls ?? []) {
      const { name, arguments: args } = call.function ?? {};
      chars += (name?.length ?? 0) + argumentsOf(args).length + pieceChars(call) + pieceChars(call.function);
    }
    this.take(chars);
  }

  /** Throws StreamError for more calls than an answer has. */
  count(calls: number): void {
    if (calls > ANSWER_CALLS_MAX) throw new StreamError(`sent more than ${ANSWER_CALLS_MAX} tool calls`);
  }

  private take(chars: number): void {
    this.left -= chars;
    if (this.left >= 0) return;
    const limit = this.tokens === undefined ? `${ANSWER_CHARS_MAX} characters` : `${this.tokens} tokens`;
    throw new StreamError(`sent more than an answer of ${limit} can hold`);
  }
}
