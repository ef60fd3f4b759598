// Ends a text before its first line, after the first one, that is indented less than it should be. Blank lines do not count.

export class IndentCut {
  private readonly indent: number;
  private held: string | undefined; // line breaks and indentation since the last text, while a line begins
  private isCut = false;

  /** `indent`: spaces and tabs; 0 cuts nothing. */
  constructor(indent: number) {
    this.indent = indent;
  }

  /** What may be shown once a piece has come. */
  push(piece: string): string {
    if (this.indent === 0) return piece;
    let out = "";
    for (const character of piece) {
      if (this.isCut) break;
      out += this.take(character);
    }
    return out;
  }

  /** What was held back at the end of the text. */
  end(): string {
    const rest = this.isCut ? "" : (this.held ?? "");
    this.held = undefined;
    return rest;
  }

  private take(character: string): string {
    const isBreak = character === "\n";
    if (this.held === undefined) {
      if (!isBreak) return character;
      this.held = character;
      return "";
    }
    this.held += character;
    if (isBreak || character === " " || character === "\t" || character === "\r") return "";
    const line = this.held.slice(this.held.lastIndexOf("\n") + 1, -1);
    this.isCut = line.length < this.indent;
    const out = this.isCut ? "" : this.held;
    this.held = undefined;
    return out;
  }
}
