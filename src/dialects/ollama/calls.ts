// Tool calls of an answer: their arguments come in pieces and go out whole, as objects.

import { assert } from "../../core/assert.ts";
import type { RunEvent } from "../../core/run.ts";
import { isRecord } from "../shared/check.ts";
import type { OllamaAnswerCall } from "./answer.ts";

type Start = Extract<RunEvent, { type: "tool_call_start" }>;
type Piece = Extract<RunEvent, { type: "tool_call_args" }>;

export class OpenCall {
  private readonly start: Start;
  private readonly pieces: string[] = [];

  constructor(start: Start) {
    this.start = start;
  }

  add({ index, delta }: Piece): void {
    assert(index === this.start.index, "arguments arrive for a tool call that is not the open one");
    this.pieces.push(delta);
  }

  body(): OllamaAnswerCall {
    const { id, index, name } = this.start;
    return { id, function: { index, name, arguments: argumentsOf(this.pieces.join("")) } };
  }
}

/** Text that is no object was cut off by the end of the answer, which `done_reason` tells. */
function argumentsOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? { ...value } : {};
  } catch {
    return {};
  }
}
