/** What HoldBack.push found: `free` may be passed on; if `match` is set, `rest` begins with it. */
export interface Released {
  readonly free: string;
  readonly match: string | undefined;
  /** Text from the match on; "" without a match. */
  readonly rest: string;
}

/**
 * Watches a stream of text for any of some strings, which may arrive in pieces. Text that could be the beginning of one
 * of them is held until it is clear whether it is. Used for stop strings and for the markup of model output.
 * Cost a push: its own length times the number of strings that share its characters, whatever came before.
 */
export class HoldBack {
  private readonly needles: readonly string[];
  private readonly firstChars: ReadonlySet<string>;
  private held = "";

  /** Empty strings are ignored. Of two matches at one place, the one named first wins. */
  constructor(needles: readonly string[]) {
    this.needles = needles.filter((needle) => needle !== "");
    this.firstChars = new Set(this.needles.map((needle) => needle.charAt(0)));
  }

  push(text: string): Released {
    if (this.held === "" && !this.mayBegin(text)) return { free: text, match: undefined, rest: "" };
    const all = this.held + text;
    let at = all.length;
    let match: string | undefined;
    for (const needle of this.needles) {
      const index = all.indexOf(needle);
      if (index >= 0 && index < at) [at, match] = [index, needle];
    }
    if (match !== undefined) {
      this.held = "";
      return { free: all.slice(0, at), match, rest: all.slice(at) };
    }
    const keep = this.possibleStart(all);
    this.held = all.slice(all.length - keep);
    return { free: all.slice(0, all.length - keep), match: undefined, rest: "" };
  }

  /** What is held. */
  get heldText(): string {
    return this.held;
  }

  /** Gives up what is held: the stream has ended. */
  flush(): string {
    const held = this.held;
    this.held = "";
    return held;
  }

  private mayBegin(text: string): boolean {
    if (this.firstChars.size === 0) return false;
    for (const char of text) if (this.firstChars.has(char)) return true;
    return false;
  }

  /** Length of the longest end of `text` that is a proper beginning of a needle. */
  private possibleStart(text: string): number {
    let longest = 0;
    for (const needle of this.needles) {
      for (let n = Math.min(needle.length - 1, text.length); n > longest; n--) {
        if (text.endsWith(needle.slice(0, n))) longest = n;
      }
    }
    return longest;
  }
}
