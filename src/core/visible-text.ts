/** Control characters, changes of direction, tags. Joiners stay: some scripts need them. */
const INVISIBLE = /[^\P{Cc}\n\t]|[\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\uFEFF\u{E0000}-\u{E007F}]/gu;

/** Third-party text without invisible characters, trailing blanks, and more than one empty line in a row. */
export function visibleText(text: string): string {
  return text
    .replace(INVISIBLE, "")
    .replace(/[^\S\n]+$/gm, "")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}
