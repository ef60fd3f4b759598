// Rounds in which a model makes the same calls with the same results again and again.

import type { Message } from "../core/message.ts";
import { EQUAL_ROUNDS_MAX, EQUAL_ROUNDS_NOTED } from "./limits.ts";
import type { ModelCall } from "./pass.ts";

export class Repeats {
  private last = "";
  private equalRounds = 0;

  /** Whether enough rounds were equal that the next will be, too. */
  get isStuck(): boolean {
    return this.equalRounds >= EQUAL_ROUNDS_MAX;
  }

  /** Counts a round. Returns its results, with a note for the model once it repeats itself. */
  noted(calls: readonly ModelCall[], results: readonly Message[]): readonly Message[] {
    if (calls.length === 0) return results;
    const made = calls.map(({ name, arguments: args }) => [name, args]);
    const told = JSON.stringify(results.map(({ content }) => content)).replaceAll(VOLATILE, "");
    const round = JSON.stringify(made) + told;
    this.equalRounds = round === this.last ? this.equalRounds + 1 : 1;
    this.last = round;
    if (this.equalRounds < EQUAL_ROUNDS_NOTED) return results;
    const text = `You have made this call ${this.equalRounds} times with the same result. Call something else, or answer.`;
    return results.map((message) => ({ ...message, content: [...message.content, { type: "text", text }] }));
  }
}

/** Parts of a result that differ between equal calls: durations, ids of files. */
const VOLATILE = /\\"execution_time_ms\\":[\d.]+|file_[\da-f]{12}_r\d+_\d+/g;
