// Wraps streamed text at the terminal's edge, between words. A word that reaches the edge is erased and written again on the
// next line, so that no text waits for the end of its word. Looks (escape sequences) take no columns.

import type { Writable } from "node:stream";

/** Looks, line ends, spaces; the rest are words, of which wide characters (CJK) are one each. */
const ESCAPE = "\u001b";
const TOKENS = new RegExp(`(${ESCAPE}\\[[0-9;]*m|\\n| |[\\u2e80-\\u9fff\\uac00-\\ud7af\\uff00-\\uffef])`);

/** Whole lines, broken between words for a terminal's width; those of two columns continue below the second one. */
export function wrapped(text: string, columns: number | undefined): string {
  if (columns === undefined || columns < 20) return text;
  return text
    .split("\n")
    .map((line) => wrappedLine(line, columns - 1))
    .join("\n");
}

function wrappedLine(line: string, width: number): string {
  if (Bun.stringWidth(line) <= width) return line;
  const head = /^\S.*? {2,}(?=\S)/.exec(line)?.[0] ?? "";
  const indent = head.length <= width / 2 ? head.length : 0;
  let shown = line.slice(0, indent);
  let column = indent;
  for (const [i, word] of line.slice(indent).split(" ").entries()) {
    const size = Bun.stringWidth(word);
    const breaks = i > 0 && column + 1 + size > width;
    const before = breaks ? `\n${" ".repeat(indent)}` : i > 0 ? " " : "";
    column = (breaks ? indent : column + before.length) + size;
    shown += before + word;
  }
  return shown;
}

/** Columns of a terminal; undefined for another output. */
export function columnsOf(output: Writable): number | undefined {
  return "columns" in output && typeof output.columns === "number" ? output.columns : undefined;
}

export class WordWrap {
  private readonly columns: () => number | undefined;
  private column = 0;
  private word = ""; // since the last place where a line may end
  private wordWidth = 0;

  /** `columns`: of the terminal now; undefined for none. */
  constructor(columns: () => number | undefined) {
    this.columns = columns;
  }

  /** The text with line ends at the edge. `isCode`: lines stay whole, for copying; the terminal breaks them. */
  write(text: string, isCode = false): string {
    const columns = this.columns();
    if (columns === undefined || columns < 20) return text;
    let shown = "";
    for (const token of text.split(TOKENS)) shown += this.place(token, isCode ? Infinity : columns - 1);
    return shown;
  }

  private place(token: string, width: number): string {
    if (token === "") return "";
    if (token.startsWith(ESCAPE)) {
      this.word += token;
      return token;
    }
    if (token === "\n") return this.start(token, 0);
    if (token === " ") return this.column >= width ? this.start("\n", 0) : this.start(token, this.column + 1);
    const size = Bun.stringWidth(token);
    const before = this.word;
    const moves =
      this.column + size > width && this.wordWidth + size <= width && this.column > this.wordWidth;
    const erased = this.wordWidth === 0 ? "" : `\u001b[${this.wordWidth}D\u001b[K`;
    this.column = (moves ? this.wordWidth : this.column) + size;
    this.word += token;
    this.wordWidth += size;
    const shown = moves ? `${erased}\n${before}${token}` : token;
    if (TOKENS.test(token)) this.start("", this.column); // a line may end behind a wide character
    return shown;
  }

  /** A new word begins at this column. */
  private start(shown: string, column: number): string {
    this.column = column;
    this.word = "";
    this.wordWidth = 0;
    return shown;
  }
}
