// Text that is pasted into a terminal, which marks its beginning and end when asked to. Its line ends must not send a line
// each, so they travel through the line editor as a visible sign.

/** Asks the terminal to mark pasted text, and to stop it. */
export const PASTE_MARKS = { on: "\u001b[?2004h", off: "\u001b[?2004l" } as const;

/** Stands for a line end within a line that is being edited. */
const LINE_END_SIGN = "\u2424";

const BEGIN = "\u001b[200~";
const END = "\u001b[201~";
/** Fewer characters of a mark at the end of a piece are a key, or the beginning of a thousand other ones. */
const TORN_MIN = 3;

/** Keys as they come from the terminal → keys for the line editor. */
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

/** The mark that a piece ends in the middle of. */
function tornMark(piece: string): string {
  for (let length = BEGIN.length - 1; length >= TORN_MIN; length--) {
    const end = piece.slice(-length);
    if (end.length === length && (BEGIN.startsWith(end) || END.startsWith(end))) return end;
  }
  return "";
}

/** On one line, without keys that would edit it. */
function flattened(text: string): string {
  return text
    .replaceAll(/\r\n?|\n/g, LINE_END_SIGN)
    .replaceAll("\t", "    ")
    .replaceAll(/\p{Cc}/gu, "");
}

/** A line from the editor as it was meant. */
export function withLineEnds(line: string): string {
  return line.replaceAll(LINE_END_SIGN, "\n");
}

/** A text of several lines as one line of the editor. */
export function withLineSigns(text: string): string {
  return text.replaceAll("\n", LINE_END_SIGN);
}
