// Reads one secret line: from a terminal without echo, or from a pipe.

import type { ReadStream, WriteStream } from "node:tty";

const ENTER = /[\r\n]/;
const LEAVE = new Set(["\u0003", "\u0004"]); // Ctrl-C, Ctrl-D
const ERASE = /[\u007f\b]/;

/** The line; undefined at the end of input or after Ctrl-C. */
export async function readSecret(
  input: ReadStream,
  output: WriteStream,
  question: string,
): Promise<string | undefined> {
  if (!input.isTTY) {
    let text = "";
    for await (const chunk of input) text += String(chunk);
    return text.trim() || undefined;
  }
  input.setRawMode(true); // before the question: what is typed at once must not be echoed either
  output.write(question);
  try {
    let line = "";
    for await (const chunk of input) {
      for (const key of String(chunk)) {
        if (LEAVE.has(key)) return undefined;
        if (ENTER.test(key)) return line.trim() || undefined;
        line = ERASE.test(key) ? line.slice(0, -1) : line + key;
      }
    }
    return undefined;
  } finally {
    input.setRawMode(false);
    output.write("\n");
  }
}
