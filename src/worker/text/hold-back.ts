// Streaming search for stop strings and markup.

/** Result of HoldBack.push: `free` may be passed on; if `match` is set, `rest` begins with it. */
export interface Released {
  readonly free: string;
  readonly match: string | undefined;
  /** Text from the match on; "" without a match. */
  readonly rest: string;
}

/**
 * Searches a text stream for strings that may arrive in pieces. Text that could begin one of them is held until that is
 * decided. The cost of a push is its length times the number of strings that share its characters, regardless of history.
 */
export class HoldBack {
  private readonly needles: readonly string[];
  private readonly firstChars: ReadonlySet<string>;
  private held = "";

  /** Ignores empty strings. Of two matches at one position, the one listed first wins. */
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

  /** Text held at present. */
  get heldText(): string {
    return this.held;
  }

  /** Returns the held text: the stream has ended. */
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

  /** Length of the longest suffix of `text` that is a proper prefix of a needle. */
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
