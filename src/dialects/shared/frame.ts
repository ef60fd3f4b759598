// Server-sent-event framing. A frame ends with its blank line, so frames can be concatenated.

import type { AnswerEvent } from "../../core/agent.ts";
import type { RunEvent } from "../../core/run.ts";

/** Turns the events of one run into frames. Returns "" for events without a frame and for all events after the end. */
export interface FrameEncoder<E extends AnswerEvent = RunEvent> {
  add(event: E | RunEvent): string;
}

/** Ends a chat or completions stream; clients ignore everything after it. */
export const DONE_FRAME = "data: [DONE]\n\n";

/** A named event. */
export function eventFrame(name: string, json: string): string {
  return `event: ${name}\ndata: ${json}\n\n`;
}

/** An unnamed event. JSON text contains no raw line break, so one `data:` line is enough. */
export function dataFrame(json: string): string {
  return `data: ${json}\n\n`;
}
