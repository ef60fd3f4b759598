// Pending run events, flushed in one message. Coalesces text deltas of the same choice: for a tiny model, sending a token
// costs more than computing it, in this process, in the serving process and at the client.
// Steps under 1 ms alone: a message costs 45 to 130 µs on both sides together, a step of the smallest models 300.

import type { RunEvent } from "../../core/run.ts";
import type { RunId } from "../../engine/protocol.ts";

/** Events with the run that each belongs to. */
export interface Outgoing {
  readonly runs: readonly RunId[];
  readonly events: readonly RunEvent[];
}

type Piece = Extract<RunEvent, { type: "text" | "reasoning" }>;

export class Outbox {
  private runs: RunId[] = [];
  private events: RunEvent[] = [];
  private readonly latest = new Map<RunId, number>(); // index of a run's last event

  get isEmpty(): boolean {
    return this.runs.length === 0;
  }

  /** Events of one run keep their order. */
  add(run: RunId, event: RunEvent): void {
    const at = this.latest.get(run);
    const before = at === undefined ? undefined : this.events[at];
    if (at !== undefined && before !== undefined && isPiece(event) && continues(event, before)) {
      this.events[at] = { ...event, text: before.text + event.text };
      return;
    }
    this.latest.set(run, this.events.length);
    this.runs.push(run);
    this.events.push(event);
  }

  /** Removes and returns all events. */
  take(): Outgoing {
    const { runs, events } = this;
    this.runs = [];
    this.events = [];
    this.latest.clear();
    return { runs, events };
  }
}

function isPiece(event: RunEvent): event is Piece {
  return event.type === "text" || event.type === "reasoning";
}

/** Whether one piece continues another's text. Pieces with log probabilities stay apart. */
function continues(piece: Piece, before: RunEvent): before is Piece {
  const isSame = piece.type === before.type && piece.choice === before.choice;
  return isSame && piece.logprobs === undefined && before.logprobs === undefined;
}
