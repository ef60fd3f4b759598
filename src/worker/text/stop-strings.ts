// Stop strings of one answer: the request's and the format's. Control tokens have no text in an answer, but a stop string may be one
// or contain it, as those of model files do: they stand in the searched text as noncharacters, which leave it with the search.

import { HoldBack } from "./hold-back.ts";

/** Noncharacters of Unicode, which no text contains. */
const MARK_FIRST = 0xfdd0;
const MARKS_MAX = 32;
const MARKS = /[\ufdd0-\ufdef]/g;

/** What of a text is free to go on. `stop`: the stop string of the request that follows it; `match`: any that does. */
export interface Stopped {
  readonly free: string;
  readonly match: string | undefined;
  readonly stop: string | undefined;
  /** Text from the match on. */
  readonly rest: string;
}

export class StopStrings {
  private readonly search: HoldBack;
  private readonly marks = new Map<number, string>(); // control tokens of the stop strings
  private readonly own = new Map<string, string>(); // stop strings of the request by what is searched

  /** `controls`: texts of the control tokens, read if the request has stop strings. */
  constructor(
    own: readonly string[],
    format: readonly string[],
    controls: () => ReadonlyMap<number, string>,
  ) {
    for (const stop of own) this.own.set(stop, stop);
    if (own.length > 0) {
      for (const [token, text] of controls())
        if (this.marks.size < MARKS_MAX && own.some((stop) => stop.includes(text)))
          this.marks.set(token, String.fromCharCode(MARK_FIRST + this.marks.size));
      for (const stop of own) this.own.set(this.marked(stop, controls()), stop);
    }
    this.search = new HoldBack([...this.own.keys(), ...format]);
  }

  private marked(stop: string, controls: ReadonlyMap<number, string>): string {
    let text = stop;
    for (const [token, mark] of this.marks) text = text.replaceAll(controls.get(token) ?? mark, mark);
    return text;
  }

  /** What stands for a control token in the searched text. */
  markOf(token: number): string {
    return this.marks.get(token) ?? "";
  }

  push(text: string): Stopped {
    const { free, match, rest } = this.search.push(text);
    const stop = match === undefined ? undefined : this.own.get(match);
    return { free: this.plain(free), match, stop, rest };
  }

  /** Text held at present. */
  get heldText(): string {
    return this.plain(this.search.heldText);
  }

  /** Returns the held text: the answer has ended. */
  flush(): string {
    return this.plain(this.search.flush());
  }

  private plain(text: string): string {
    return this.marks.size === 0 ? text : text.replaceAll(MARKS, "");
  }
}
