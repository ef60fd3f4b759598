// Shows the changes of an answer as JSON lines. Guarantees: exactly one end, which has `done: true` or is an error. Tool calls are
// sent whole.
//
// Every token of every stream makes a line, so its constant text is built once and only the delta is serialized.

import type { ErrorData } from "../../core/error.ts";
import type { RunEvent, TokenLogprob } from "../../core/run.ts";
import { type AnswerBlock, type AnswerChanges, AnswerReducer } from "../shared/answer-reducer.ts";
import { tokenLogprob } from "../shared/logprobs.ts";
import { type ProgressEvent, progressBody } from "../shared/progress.ts";
import { endingOf, headOf, type OllamaMeta, type OllamaShape } from "./answer.ts";
import { callBody } from "./calls.ts";

/** The stream of one run. */
export function ollamaStream(meta: OllamaMeta, shape: OllamaShape): AnswerReducer {
  return new AnswerReducer({ changes: new OllamaLines(meta, shape) });
}

class OllamaLines implements AnswerChanges {
  private readonly meta: OllamaMeta;
  /** Text of a line before the delta. */
  private readonly head: string;
  /** Text after the fields that hold the delta. */
  private readonly tail: string;

  constructor(meta: OllamaMeta, shape: OllamaShape) {
    this.meta = meta;
    const isMessage = shape === "chat";
    const field = isMessage ? '"message":{"role":"assistant","content":' : '"response":';
    this.head = `${JSON.stringify(headOf(meta)).slice(0, -1)},${field}`;
    this.tail = isMessage ? "}" : "";
  }

  keeps(type: AnswerBlock["type"]): boolean {
    return type === "call";
  }

  progress(event: ProgressEvent): string {
    const field = JSON.stringify(progressBody(event, this.meta.model)).slice(1, -1);
    return this.line("", "", `,${field}`);
  }

  delta({ type }: AnswerBlock, text: string, tokens: readonly TokenLogprob[] | undefined): string {
    if (type === "call") return "";
    if (type === "reasoning") return this.line("", `,"thinking":${JSON.stringify(text)}`);
    return this.line(
      text,
      "",
      tokens === undefined ? "" : `,"logprobs":${JSON.stringify(tokens.map(tokenLogprob))}`,
    );
  }

  closed(block: AnswerBlock): string {
    if (block.type !== "call") return "";
    return this.line("", `,"tool_calls":${JSON.stringify([callBody(block)])}`);
  }

  finished(_: Extract<RunEvent, { type: "finish" }>, answer: AnswerReducer): string {
    const ending = JSON.stringify(endingOf(this.meta, answer)).slice(1);
    return `${this.head}""${this.tail},${ending}\n`;
  }

  failed(error: ErrorData, { answer: { open } }: AnswerReducer): string {
    const call = open === undefined ? "" : this.closed(open);
    return `${call}${JSON.stringify({ error: error.message })}\n`;
  }

  /** A line with further fields of the message, and of the line. */
  private line(text: string, ofMessage: string, ofLine = ""): string {
    return `${this.head}${JSON.stringify(text)}${ofMessage}${this.tail}${ofLine},"done":false}\n`;
  }
}
