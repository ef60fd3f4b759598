// What was typed in earlier chats: one line each, the newest first, in a file that only its owner can read.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { HISTORY_LINE_CHARS_MAX, HISTORY_LINES_MAX } from "./limits.ts";

/** The lines, newest first; none where there is no such file. */
export function readHistory(file: string): string[] {
  try {
    return kept(readFileSync(file, "utf8").split("\n").toReversed());
  } catch {
    return []; // the first chat, or a file that is not ours to read: a chat does without
  }
}

/** Replaces the file. A disk that is full or read-only is no reason to end a chat. */
export function writeHistory(file: string, lines: readonly string[]): void {
  const aside = `${file}.${process.pid}.new`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(aside, `${kept(lines).toReversed().join("\n")}\n`, { mode: 0o600 });
    renameSync(aside, file);
  } catch {
    // see above
  }
}

function kept(lines: readonly string[]): string[] {
  return lines
    .filter((line) => line !== "" && line.length <= HISTORY_LINE_CHARS_MAX)
    .slice(0, HISTORY_LINES_MAX);
}
