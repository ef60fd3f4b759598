// Ends an answer at a call that repeats an earlier one word for word, and at one beyond the bound. A small model that is made to call
// writes the same call until the context is full; a repeated call has no use.

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
  private held: OutputDelta[] = []; // of the last call, which is the beginning of an earlier one so far
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
    this.calls.push({ name: delta.name, args: "" });
    return this.mayRepeat() ? this.hold(delta) : [delta];
  }

  private lengthen(delta: Extract<OutputDelta, { type: "tool_call_args" }>): readonly OutputDelta[] {
    const call = this.calls.at(-1);
    if (call !== undefined) call.args += delta.delta;
    if (this.held.length === 0) return [delta];
    // An object that is closed cannot become longer.
    this.over = call?.args.endsWith("}") === true && this.isRepeated();
    if (this.over) return [];
    return this.mayRepeat() ? this.hold(delta) : [...this.release(), delta];
  }

  /** The last call has ended. */
  private complete(): readonly OutputDelta[] {
    this.over = this.held.length > 0 && this.isRepeated();
    return this.over ? [] : this.release();
  }

  private hold(delta: OutputDelta): readonly OutputDelta[] {
    this.held.push(delta);
    return [];
  }

  private release(): readonly OutputDelta[] {
    return this.held.splice(0);
  }

  private isRepeated(): boolean {
    const last = this.calls.at(-1);
    return this.earlier().some(({ args }) => args === last?.args);
  }

  private mayRepeat(): boolean {
    const last = this.calls.at(-1);
    return this.earlier().some(({ args }) => args.startsWith(last?.args ?? ""));
  }

  /** Earlier calls of the last one's function. */
  private earlier(): readonly Call[] {
    const last = this.calls.at(-1);
    return this.calls.slice(0, -1).filter(({ name }) => name === last?.name);
  }
}
