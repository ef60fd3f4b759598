// Ends an answer at a call that repeats an earlier one word for word, and at one beyond the bound. A small model that is made to call
// writes the same call until the context is full; a repeated call has no use.
// Rejected: one call at most, since agents rely on several; penalties and DRY, which change values copied from the prompt.

import type { OutputDelta } from "./output-parser.ts";

/** A call as far as it is known. */
interface Call {
  readonly name: string;
  args: string;
}

/** The calls of one choice. Passes deltas on; those of a call that may be a repetition only once it is none. */
export class CallLimit {
  private readonly most: number;
  private readonly calls: Call[] = [];
  private rivals: readonly Call[] = []; // earlier calls of the last one's function that begin as it does so far
  private held: OutputDelta[] = []; // of the last call, while it has rivals
  private over = false;

  /** `most`: calls of an answer. */
  constructor(most: number) {
    this.most = most;
  }

  /** A repeated or surplus call has begun: nothing is passed on any more. */
  get isOver(): boolean {
    return this.over;
  }

  /** What can be sent after a delta. */
  take(delta: OutputDelta): readonly OutputDelta[] {
    if (this.over) return [];
    switch (delta.type) {
      case "text":
      case "reasoning":
        return [...this.complete(), ...(this.over ? [] : [delta])];
      case "tool_call_start":
        return [...this.complete(), ...this.begin(delta)];
      case "tool_call_args":
        return this.lengthen(delta);
    }
  }

  /** What can be sent at the end of the answer. */
  end(): readonly OutputDelta[] {
    return this.over ? [] : this.complete();
  }

  private begin(delta: Extract<OutputDelta, { type: "tool_call_start" }>): readonly OutputDelta[] {
    this.over ||= this.calls.length === this.most;
    if (this.over) return [];
    this.rivals = this.calls.filter(({ name }) => name === delta.name);
    this.calls.push({ name: delta.name, args: "" });
    return this.holdOrPass(delta);
  }

  private lengthen(delta: Extract<OutputDelta, { type: "tool_call_args" }>): readonly OutputDelta[] {
    const call = this.calls.at(-1);
    if (call === undefined) return [delta];
    const { length } = call.args;
    this.rivals = this.rivals.filter(({ args }) => args.startsWith(delta.delta, length));
    call.args += delta.delta;
    // An object that is closed cannot become longer.
    this.over = delta.delta.endsWith("}") && this.isRepeated();
    return this.over ? [] : this.holdOrPass(delta);
  }

  /** The last call has ended. */
  private complete(): readonly OutputDelta[] {
    this.over = this.isRepeated();
    this.rivals = [];
    return this.over ? [] : this.held.splice(0);
  }

  private holdOrPass(delta: OutputDelta): readonly OutputDelta[] {
    this.held.push(delta);
    return this.rivals.length > 0 ? [] : this.held.splice(0);
  }

  private isRepeated(): boolean {
    const length = this.calls.at(-1)?.args.length;
    return this.rivals.some(({ args }) => args.length === length);
  }
}
