// Bracketed paste. Line ends of pasted text pass through the line editor as a visible sign, so that they do not submit
// lines.

/** Escape sequences that switch bracketed paste on and off. */
export const PASTE_MARKS = { on: "\u001b[?2004h", off: "\u001b[?2004l" } as const;

/** Sign of a line end within an edited line. */
const LINE_END_SIGN = "\u2424";

const BEGIN = "\u001b[200~";
const END = "\u001b[201~";
/** Minimum characters of a cut marker; fewer are an ordinary key. */
const TORN_MIN = 3;

/** Converts terminal input to input of the line editor. */
export class PasteFilter {
  private isPasting = false;
  private torn = "";

  push(keys: string): string {
    let rest = this.torn + keys;
    this.torn = tornMark(rest);
    rest = rest.slice(0, rest.length - this.torn.length);
    let passed = "";
    for (;;) {
      const mark = this.isPasting ? END : BEGIN;
      const at = rest.indexOf(mark);
      const piece = at < 0 ? rest : rest.slice(0, at);
      passed += this.isPasting ? flattened(piece) : piece;
      if (at < 0) return passed;
      rest = rest.slice(at + mark.length);
      this.isPasting = !this.isPasting;
    }
  }
}

/** The incomplete marker at the end of a piece. */
function tornMark(piece: string): string {
  for (let length = BEGIN.length - 1; length >= TORN_MIN; length--) {
    const end = piece.slice(-length);
    if (end.length === length && (BEGIN.startsWith(end) || END.startsWith(end))) return end;
  }
  return "";
}

/** On one line, without control characters. */
function flattened(text: string): string {
  return text
    .replaceAll(/\r\n?|\n/g, LINE_END_SIGN)
    .replaceAll("\t", "    ")
    .replaceAll(/\p{Cc}/gu, "");
}

/** A line of the editor with its line ends. */
export function withLineEnds(line: string): string {
  return line.replaceAll(LINE_END_SIGN, "\n");
}

/** A text of several lines as one line of the editor. */
export function withLineSigns(text: string): string {
  return text.replaceAll("\n", LINE_END_SIGN);
}
