// A tool call under construction: argument deltas in, one object out.

import { assert } from "../../core/assert.ts";
import type { RunEvent } from "../../core/run.ts";
import { argumentsObject } from "../shared/call-arguments.ts";
import type { OllamaAnswerCall } from "./answer.ts";

type Start = Extract<RunEvent, { type: "tool_call_start" }>;
type Delta = Extract<RunEvent, { type: "tool_call_args" }>;

export class OpenCall {
  private readonly start: Start;
  private readonly deltas: string[] = [];

  constructor(start: Start) {
    this.start = start;
  }

  add({ index, delta }: Delta): void {
    assert(index === this.start.index, "arguments for a tool call that is not open");
    this.deltas.push(delta);
  }

  body(): OllamaAnswerCall {
    return callBody(this.start, this.deltas.join(""));
  }
}

/** A call whose arguments are all there, as JSON text. */
export function callBody(
  { id, index, name }: Pick<Start, "id" | "index" | "name">,
  args: string,
): OllamaAnswerCall {
  return { id, function: { index, name, arguments: argumentsObject(args) } };
}
