// Renders streamed Markdown for a terminal. Emphasis is held until its end, a table until its last row; all other text
// passes at once. Invalid markup is printed verbatim, so no character is lost.
// marked-terminal needs the whole text; streaming-markdown lost underscores and unclosed emphasis.

import { begin, endAll, type Look } from "./style.ts";

/** Maximum held characters of a span or the start of a line; longer ones are plain text. */
const HELD_CHARS_MAX = 400;
/** Maximum held rows of a table. */
const TABLE_ROWS_MAX = 200;

const RULE_LINE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,})[ \t]*$/;
const FENCE_LINE = /^\s*(?<mark>`{3,}|~{3,})[^`]*$/;
/** Start of a line that may become markup. */
const UNDECIDED_START = /^[ \t]*(?:#{0,6}|[-+*_ ]*|\d{0,9}[.)]?|>|`{0,3}|~{0,3})$/;
const HEADING = /^ {0,3}#{1,6} /;
const BULLET = /^(?<indent>[ \t]*)[-*+] /;
const NUMBER = /^[ \t]*\d{1,9}[.)] /;
const QUOTE = /^ {0,3}> ?/;

/** Turns pieces of Markdown into pieces of terminal text. */
export class MarkdownStream {
  private held = ""; // not passed on yet
  private isLineStart = true;
  private look: Look | undefined; // of the whole line
  private before = "\n"; // the character in front of `held`
  private fence: string | undefined; // the mark that ends the code block we are in
  private table: string[] = [];

  /** Whether the text is in a code block. */
  get isCode(): boolean {
    return this.fence !== undefined;
  }

  /** Takes a piece; returns the text that can be printed now. */
  write(text: string): string {
    this.held += text;
    let shown = "";
    for (;;) {
      const step = this.step(false);
      if (step === undefined) return shown;
      shown += step;
    }
  }

  /** End of the answer: returns the held text. */
  end(): string {
    let shown = "";
    for (let step = this.step(true); step !== undefined; step = this.step(true)) shown += step;
    return shown + this.takeTable() + this.endLook();
  }

  /** Renders the next part of the held text; undefined when it is empty or undecided. */
  private step(isEnd: boolean): string | undefined {
    if (this.held === "") return undefined;
    if (this.fence !== undefined && this.isLineStart) return this.codeLine(this.fence, isEnd);
    if (this.isLineStart) return this.lineStart(isEnd);
    return this.inLine(isEnd);
  }

  /** Consumes `count` characters and returns their rendering. */
  private take(count: number, shown: string): string {
    this.before = this.held[count - 1] ?? this.before;
    this.held = this.held.slice(count);
    return shown;
  }

  private codeLine(fence: string, isEnd: boolean): string | undefined {
    const end = this.held.indexOf("\n");
    const line = end < 0 ? this.held : this.held.slice(0, end);
    const closes = line.trimStart().startsWith(fence) && line.trim().replaceAll(fence.charAt(0), "") === "";
    if (end < 0 && !isEnd) {
      // Code passes within a line once the line cannot be the closing fence.
      if (/^\s*[`~]*$/.test(line)) return undefined;
      this.look = "code";
      this.isLineStart = false;
      return begin("code");
    }
    const lineEnd = end < 0 ? "" : "\n";
    if (closes) this.fence = undefined;
    return this.take(line.length + lineEnd.length, paint(closes ? "dim" : "code", line) + lineEnd);
  }

  private lineStart(isEnd: boolean): string | undefined {
    const end = this.held.indexOf("\n");
    const line = end < 0 ? this.held : this.held.slice(0, end);
    const isWhole = end >= 0 || isEnd;
    const lineEnd = end < 0 ? "" : "\n";
    const size = line.length + lineEnd.length;
    const isRow = line.startsWith("|");
    const mustWait = isRow || /^\s*(?:```|~~~)/.test(line) || UNDECIDED_START.test(line);
    if (!isWhole && mustWait && line.length < HELD_CHARS_MAX) return undefined;
    if (isWhole && isRow && this.table.length < TABLE_ROWS_MAX) {
      this.table.push(line);
      return this.take(size, "");
    }
    const table = this.takeTable();
    const fence = isWhole ? FENCE_LINE.exec(line)?.groups?.["mark"] : undefined;
    if (fence !== undefined) {
      this.fence = fence;
      return this.take(size, table + paint("dim", line) + lineEnd);
    }
    if (isWhole && RULE_LINE.test(line))
      return this.take(size, table + paint("dim", "─".repeat(32)) + lineEnd);
    return table + this.beginLine(line);
  }

  /** Marker at the start of an ordinary line. */
  private beginLine(line: string): string {
    this.isLineStart = false;
    const heading = HEADING.exec(line)?.[0];
    if (heading !== undefined) {
      this.look = "heading";
      return this.take(heading.length, begin("heading"));
    }
    const quote = QUOTE.exec(line)?.[0];
    if (quote !== undefined) {
      this.look = "dim";
      return this.take(quote.length, `${begin("dim")}│ `);
    }
    const bullet = BULLET.exec(line);
    if (bullet !== null) return this.take(bullet[0].length, `${bullet.groups?.["indent"] ?? ""}• `);
    const number = NUMBER.exec(line)?.[0] ?? "";
    return this.take(number.length, number);
  }

  private inLine(isEnd: boolean): string | undefined {
    const special = this.fence === undefined ? /[\n`*_~[\\]/ : /\n/;
    const at = this.held.search(special);
    if (at !== 0) {
      const plain = at < 0 ? this.held : this.held.slice(0, at);
      return this.take(plain.length, plain);
    }
    if (this.held.startsWith("\n")) {
      const ended = this.endLook();
      this.isLineStart = true;
      return this.take(1, `${ended}\n`);
    }
    const span = readSpan(this.held, this.before, isEnd || this.held.length > HELD_CHARS_MAX);
    if (span === undefined) return undefined;
    const outer = this.look === undefined ? "" : begin(this.look);
    return this.take(span.length, showSpan(span, outer));
  }

  private endLook(): string {
    const ended = this.look === undefined ? "" : endAll();
    this.look = undefined;
    return ended;
  }

  private takeTable(): string {
    if (this.table.length === 0) return "";
    const rows = this.table;
    this.table = [];
    return showTable(rows);
  }
}

/** A styled part of a line, or plain text. */
interface Span {
  /** Length in the source. */
  readonly length: number;
  readonly look?: Look;
  readonly text: string;
  /** The text may contain spans. */
  readonly isNested?: boolean;
  /** URL, printed dimmed after the text. */
  readonly address?: string;
}

/** The span at the start of `source`; undefined while undecided. `isLast`: the source is complete. */
function readSpan(source: string, before: string, isLast: boolean): Span | undefined {
  const lineEnd = source.indexOf("\n");
  const line = lineEnd < 0 ? source : source.slice(0, lineEnd);
  const isWhole = lineEnd >= 0 || isLast;
  const mark = /^(?:`+|\*{1,3}|_{1,3}|~~?)/.exec(line)?.[0] ?? line.charAt(0);
  const literal: Span = { length: mark.length, text: mark };
  if (mark.length === line.length && !isWhole) return undefined; // the mark itself may go on
  if (mark === "\\") return /^\\[!-/:-@[-`{-~]/.test(line) ? { length: 2, text: line.charAt(1) } : literal;
  if (mark === "[") return readLink(line) ?? (isWhole ? literal : waitOr(line, literal));
  if (mark.startsWith("`")) {
    const end = line.indexOf(mark, mark.length);
    if (end > 0) return { length: end + mark.length, look: "code", text: line.slice(mark.length, end) };
    return isWhole ? literal : undefined;
  }
  if (mark === "~" || !opensSpan(line, mark, before)) return literal;
  const end = closingMark(line, mark, isWhole);
  if (end === undefined) return isWhole ? literal : undefined;
  const text = line.slice(mark.length, end);
  return { length: end + mark.length, look: LOOKS[mark] ?? "bold", text, isNested: true };
}

const LOOKS: Readonly<Record<string, Look>> = { "*": "italic", _: "italic", "~~": "strike" };

/** Holds a bracket only while it can be the text of a link. */
function waitOr(line: string, literal: Span): Span | undefined {
  const end = line.indexOf("]");
  return end < 0 || end === line.length - 1 || line.charAt(end + 1) === "(" ? undefined : literal;
}

function readLink(line: string): Span | undefined {
  const link = /^\[(?<text>[^\]]*)\]\((?<address>[^()\s]*)(?:\s+"[^"]*")?\)/.exec(line);
  if (link === null) return undefined;
  const { text = "", address = "" } = link.groups ?? {};
  const isSame = text === address;
  return { length: link[0].length, look: "underline", text, isNested: true, ...(isSame ? {} : { address }) };
}

const isWordCharacter = (text: string): boolean => /[\p{L}\p{N}_]/u.test(text);

/** Emphasis starts before a word; an underscore within a word is literal. */
function opensSpan(line: string, mark: string, before: string): boolean {
  if (/^\s?$/.test(line.charAt(mark.length))) return false;
  return !mark.startsWith("_") || !isWordCharacter(before);
}

/** Position of the closing marker; undefined if missing. */
function closingMark(line: string, mark: string, isWhole: boolean): number | undefined {
  for (let at = line.indexOf(mark, mark.length); at > 0; at = line.indexOf(mark, at + 1)) {
    const after = line.charAt(at + mark.length);
    if (after === "" && !isWhole) return undefined; // it may be a longer mark
    if (/\s/.test(line.charAt(at - 1))) continue;
    const single = mark.charAt(0);
    if (mark.length < 3 && (after === single || line.charAt(at - 1) === single)) {
      if (mark.length === 1) at++; // the inside of a double mark
      continue;
    }
    if (mark.startsWith("_") && isWordCharacter(after)) continue;
    return at;
  }
  return undefined;
}

/** A span within text of the style `outer`, given by its escape sequence. */
function showSpan({ look, text, isNested = false, address }: Span, outer: string): string {
  if (look === undefined) return text;
  const inside = isNested ? showInline(text, outer + begin(look)) : text;
  const link = address === undefined ? "" : ` ${begin("dim")}(${address})${endAll()}${outer}`;
  return begin(look) + inside + endAll() + outer + link;
}

/** Renders a text without line ends. */
function showInline(text: string, outer = ""): string {
  let shown = "";
  let rest = text;
  let before = " ";
  while (rest !== "") {
    const at = rest.search(/[`*_~[\\]/);
    const span = at === 0 ? readSpan(rest, before, true) : undefined;
    const length = span?.length ?? (at < 0 ? rest.length : at);
    shown += span === undefined ? rest.slice(0, length) : showSpan(span, outer);
    before = rest.charAt(length - 1);
    rest = rest.slice(length);
  }
  return shown;
}

function paint(look: Look, text: string): string {
  return text === "" ? "" : begin(look) + text + endAll();
}

/** Aligned columns with a rule below the head; rows that are not a table stay verbatim. */
function showTable(rows: readonly string[]): string {
  const cells = rows.map((row) =>
    row
      .trim()
      .replace(/^\||\|$/g, "")
      .split("|")
      .map((cell) => cell.trim()),
  );
  const isRule = (row: readonly string[]): boolean => row.every((cell) => /^:?-+:?$/.test(cell));
  if (!isRule(cells[1] ?? [""])) return rows.map((row) => `${showInline(row)}\n`).join("");
  const widths: number[] = [];
  for (const row of cells) {
    if (isRule(row)) continue;
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 1, widthOf(cell));
  }
  const lines = cells.map((row, index) => {
    if (isRule(row)) return paint("dim", widths.map((width) => "─".repeat(width)).join("─┼─"));
    const padded = widths.map((width, i) => {
      const cell = row[i] ?? "";
      const text = index === 0 ? paint("bold", cell) : showInline(cell);
      return text + " ".repeat(width - widthOf(cell));
    });
    return padded.join(paint("dim", " │ ")).trimEnd();
  });
  return `${lines.join("\n")}\n`;
}

/** Width of a rendered cell. */
function widthOf(cell: string): number {
  return Bun.stringWidth(showInline(cell));
}
