// What is to be told of runs. Pieces of one text that go together anyway are joined: of a tiny model's token, telling it by
// itself is the dearest part, here, in the serving process and at the client.

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

  /** Events of a run stay in order; those of several need not. */
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

  /** What there is, and is here no longer. */
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

/** Whether one piece is more of another's text; log probabilities belong to the piece that they came with. */
function continues(piece: Piece, before: RunEvent): before is Piece {
  const isSame = piece.type === before.type && piece.choice === before.choice;
  return isSame && piece.logprobs === undefined && before.logprobs === undefined;
}
