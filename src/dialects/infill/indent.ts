// Cuts a streamed text before the first line with less than the minimum indentation. The first line and blank lines are
// exempt.

export class IndentCut {
  private readonly indent: number;
  private pending: string | undefined; // line breaks and indentation of a line that has no text yet
  private isCut = false;

  /** `indent`: minimum number of spaces and tabs; 0 cuts nothing. */
  constructor(indent: number) {
    this.indent = indent;
  }

  /** Adds a delta and returns the text that is certain to be kept. */
  push(delta: string): string {
    if (this.indent === 0) return delta;
    let out = "";
    for (const character of delta) {
      if (this.isCut) break;
      out += this.take(character);
    }
    return out;
  }

  /** Ends the text and returns the pending rest. */
  end(): string {
    const rest = this.isCut ? "" : (this.pending ?? "");
    this.pending = undefined;
    return rest;
  }

  private take(character: string): string {
    const isBreak = character === "\n";
    if (this.pending === undefined) {
      if (!isBreak) return character;
      this.pending = character;
      return "";
    }
    this.pending += character;
    if (isBreak || character === " " || character === "\t" || character === "\r") return "";
    const line = this.pending.slice(this.pending.lastIndexOf("\n") + 1, -1);
    this.isCut = line.length < this.indent;
    const out = this.isCut ? "" : this.pending;
    this.pending = undefined;
    return out;
  }
}
