// Input history of chats: one line for each entry, in a file with mode 0600.

import { readFileSync } from "node:fs";
import { terminalText } from "../../core/visible-text.ts";
import { writePrivateFile } from "../../core/whole-file.ts";
import { HISTORY_LINE_CHARS_MAX, HISTORY_LINES_MAX } from "./limits.ts";

/** The lines, newest first, but for those that a terminal would obey; empty if the file is missing or unreadable. */
export function readHistory(file: string): string[] {
  try {
    const lines = readFileSync(file, "utf8").split("\n");
    return kept(lines.filter((line) => terminalText(line) === line).toReversed());
  } catch {
    return []; // a chat works without history
  }
}

/** Replaces the file. Errors are ignored: a chat works without history. */
export function writeHistory(file: string, lines: readonly string[]): void {
  try {
    writePrivateFile(file, `${kept(lines).toReversed().join("\n")}\n`);
  } catch {
    // see above
  }
}

function kept(lines: readonly string[]): string[] {
  return lines
    .filter((line) => line !== "" && line.length <= HISTORY_LINE_CHARS_MAX)
    .slice(0, HISTORY_LINES_MAX);
}
