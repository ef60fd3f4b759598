/** Control characters, changes of direction, tags. Joiners stay: some scripts need them. */
const INVISIBLE = /[^\P{Cc}\n\t]|[\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\uFEFF\u{E0000}-\u{E007F}]/gu;

/** Characters of a third party's words in a line for a terminal or a log. */
const LINE_CHARS_MAX = 200;

/** One line of third-party text for a terminal or a log: nothing that a terminal obeys, and not long. */
export function visibleLine(text: string, charsMax = LINE_CHARS_MAX): string {
  const line = visibleText(text.slice(0, 10 * charsMax)).replaceAll(/\s+/g, " ");
  return line.length <= charsMax ? line : `${line.slice(0, charsMax)}…`;
}

/** Third-party text without invisible characters, trailing blanks, and more than one empty line in a row. */
export function visibleText(text: string): string {
  return text
    .replace(INVISIBLE, "")
    .replace(/[^\S\n]+$/gm, "")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}
