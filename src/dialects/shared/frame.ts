// Server-sent-event framing as text. A frame is complete: it ends with the blank line, so frames can be joined.

import type { AnswerEvent } from "../../core/agent.ts";
import type { RunEvent } from "../../core/run.ts";

/** Turns the events of one run into frames. Returns "" for an event that has none, and after the end. */
export interface StreamEncoder<E extends AnswerEvent = RunEvent> {
  encode(event: E | RunEvent): string;
}

/** Ends a chat or completions stream; clients ignore whatever follows. */
export const DONE_FRAME = "data: [DONE]\n\n";

/** A named event. */
export function eventFrame(name: string, json: string): string {
  return `event: ${name}\ndata: ${json}\n\n`;
}

/** An unnamed event. JSON text never contains a raw line break, so one `data:` line is enough. */
export function dataFrame(json: string): string {
  return `data: ${json}\n\n`;
}
