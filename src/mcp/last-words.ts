// The lines of a program's stderr that say why it ended. Pure.

import { visibleLine, visibleText } from "../core/visible-text.ts";
import { MCP_WORDS_CHARS_MAX } from "./limits.ts";

/** Lines without a reason: frames of stacks, versions of runtimes, ends of objects, marks below source lines. */
const NOISE = [
  /^\s*at\s/,
  /^\s*File "/,
  /^Node\.js v\d/,
  /^Bun v\d/,
  /^Deno \d/,
  /^[\s\]})>,;^~|-]*$/,
  /^\s*\d+ \|/, // source lines with numbers
  /^Traceback \(most recent call last\)/,
  /^note: run with `RUST_BACKTRACE/,
];

const REASON =
  /error|exception|panic|fatal|fail|cannot|could not|required|missing|denied|invalid|not found|usage/i;

/** Lines after the one with the reason. */
const LINES_AFTER = 2;

/** The last line that names a reason with the lines after it, else the last lines; one line of text. "" for no words. */
export function lastWords(stderr: string): string {
  const lines = visibleText(stderr)
    .split("\n")
    .filter((line) => !NOISE.some((noise) => noise.test(line)))
    .map((line) => line.trim());
  const reason = lines.findLastIndex((line) => REASON.test(line));
  const words = reason < 0 ? lines.slice(-LINES_AFTER - 1) : lines.slice(reason, reason + 1 + LINES_AFTER);
  return visibleLine(words.join(" "), MCP_WORDS_CHARS_MAX);
}
