// Words at the terminal's edge, however the text is cut into pieces.

import { expect, test } from "bun:test";
import { wrapped, WordWrap } from "../../../src/cli/chat/word-wrap.ts";

const ESCAPE = "\u001b";
const TOKENS = new RegExp(`${ESCAPE}\\[\\d+D|${ESCAPE}\\[K|${ESCAPE}\\[[0-9;]*m|[^]`, "gu");

/** What a terminal shows: looks are dropped, moves and erasures done. */
function shown(written: string): readonly string[] {
  const lines = [""];
  let column = 0;
  for (const [token] of written.matchAll(TOKENS)) {
    const line = lines.at(-1) ?? "";
    const back = /\[(\d+)D$/.exec(token)?.[1];
    if (back !== undefined) column -= Number(back);
    else if (token === "\u001b[K") lines[lines.length - 1] = line.slice(0, column);
    else if (token === "\n") {
      lines.push("");
      column = 0;
    } else if (!token.startsWith("\u001b")) {
      lines[lines.length - 1] = line.slice(0, column) + token;
      column++;
    }
  }
  return lines.map((line) => line.trimEnd());
}

const TEXT =
  "The quick brown \u001b[1mfox jumps\u001b[0m over the lazy dog.\n\nSupercalifragilisticexpialidocious ends.";
const LINES = [
  "The quick brown fox",
  "jumps over the lazy",
  "dog.",
  "",
  "Supercalifragilisticexpialidocious",
  "ends.",
];

test.each([1, 2, 3, 5, 100])("in pieces of %d characters", (size) => {
  const wrap = new WordWrap(() => 22);
  const looks = new RegExp(`(${ESCAPE}\\[[0-9;]*m)`);
  const pieces = TEXT.split(looks).flatMap((part) =>
    looks.test(part) ? [part] : (part.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []),
  );
  expect(shown(pieces.map((piece) => wrap.write(piece)).join(""))).toEqual(LINES);
});

test("code and output without a width stay as they are", () => {
  expect(new WordWrap(() => 22).write(TEXT, true)).toBe(TEXT);
  expect(new WordWrap(() => undefined).write(TEXT)).toBe(TEXT);
});

test("text without spaces breaks between wide characters", () => {
  const wrap = new WordWrap(() => 21);
  expect(wrap.write("ab ".repeat(2) + "漢字".repeat(6))).toBe(`ab ab ${"漢字".repeat(3)}漢\n字漢字漢字`);
});

test("own texts break between words, rows below their second column", () => {
  expect(wrapped("one two three four five six\nseven\n", 21)).toBe("one two three four\nfive six\nseven\n");
  expect(wrapped("/help  show this list again\n", 21)).toBe("/help  show this\n       list again\n");
  expect(wrapped("one two three four five six", undefined)).toBe("one two three four five six");
  expect(wrapped("a_word_that_is_longer_than_the_line and more", 21)).toBe(
    "a_word_that_is_longer_than_the_line\nand more",
  );
});
