// Text of third parties without what its reader would not see. Pure.

import { brief } from "./shorten.ts";

/** What a reader does not see, or what reorders what is seen: controls, format characters, fillers, selectors, tags. */
const UNSEEN = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** A text for approval, with invisible characters replaced by their code points. */
export function revealed(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
    return `⟨U+${code.padStart(4, "0")}⟩`;
  });
}

/** The same, but for what is part of the spelling of some scripts and of emoji, and for signs that a font or a later Unicode has. */
const NEVER_SPELLED =
  /[^\P{Cc}\n\t]|(?!\u200C|\u200D|\uFE0F)[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu;
/** Joiners that join nothing, and emoji selectors that select nothing. */
const MISPLACED =
  /(?<!\p{Emoji})\uFE0F|(?<![\p{L}\p{M}\p{S}\uFE0F])[\u200C\u200D]|[\u200C\u200D](?![\p{L}\p{M}\p{S}])/gu;

/** What a terminal obeys, and what changes the direction of a line. */
const OBEYED = /[^\P{Cc}\n\t]|[\u202A-\u202E\u2066-\u2069]/gu;

/** Text for a terminal or a log, as it is but for what a terminal would obey: names and reasons in it can be a third party's. */
export function terminalText(text: string): string {
  return text.replace(OBEYED, "");
}

/** Characters of a third party's words in a line for a terminal or a log. */
const LINE_CHARS_MAX = 200;

/** One line of third-party text for a terminal or a log: nothing that a terminal obeys, and not long. */
export function visibleLine(text: string, charsMax = LINE_CHARS_MAX): string {
  return brief(visibleText(text.slice(0, 10 * charsMax)).replaceAll(/\s+/g, " "), charsMax);
}

/** Third-party text without invisible characters, trailing blanks, and more than one empty line in a row. */
export function visibleText(text: string): string {
  return tidied(text.replace(NEVER_SPELLED, "").replace(MISPLACED, ""));
}

/** Text without trailing blanks and more than one empty line in a row. */
export function tidied(text: string): string {
  return (
    text
      // From its first blank alone: else a long run of blanks within a line is looked through from each of them.
      .replace(/(?<![^\S\n])[^\S\n]+$/gm, "")
      .replace(/\n{3,}/g, "\n\n")
      .trim()
  );
}
