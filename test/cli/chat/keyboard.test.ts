// Keys on the line of a chat: what a person sees as one character is moved over and deleted as one.

import { expect, test } from "bun:test";
import { PassThrough } from "node:stream";
import { Keyboard } from "../../../src/cli/chat/keyboard.ts";

const BACKSPACE = "\x7f";
const LEFT = "\x1b[D";
const RIGHT = "\x1b[C";
const DELETE = "\x1b[3~";

async function typed(keys: string): Promise<string | undefined> {
  const input = new PassThrough();
  const keyboard = new Keyboard({
    input,
    output: new PassThrough().resume(),
    history: [],
    onHistory: () => {},
    onInterrupt: () => {},
    onClose: () => {},
    completer: (line) => [[], line],
  });
  const line = keyboard.read("> ");
  input.write(`${keys}\r`);
  try {
    return await line;
  } finally {
    keyboard.close();
  }
}

const FAMILY = "👩\u200d👩\u200d👧\u200d👦";

test.each([
  ["a family", `a${FAMILY}${BACKSPACE}b`, "ab"],
  ["a combined accent", `e\u0301${BACKSPACE}x`, "x"],
  ["of two flags the second", `🇩🇪🇫🇷${BACKSPACE}`, "🇩🇪"],
  ["a colour of skin, by Ctrl-H", `ok 👍🏽\b!`, "ok !"],
  ["a flag behind the cursor", `x🇩🇪z${LEFT}${LEFT}${DELETE}`, "xz"],
  ["to the left", `x👍🏽${LEFT}y`, "xy👍🏽"],
  ["to the right, by Ctrl-F", `👍🏽z\x01\x06y`, "👍🏽yz"],
  ["to the right", `👍🏽z\x01${RIGHT}y`, "👍🏽yz"],
  ["more than there is", `ab${BACKSPACE.repeat(4)}c`, "c"],
])("%s", async (_, keys, line) => {
  expect(await typed(keys)).toBe(line);
});
