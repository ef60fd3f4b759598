// Texts of third parties, as their readers see them.

import { expect, test } from "bun:test";
import { tidied, visibleText } from "../../src/core/visible-text.ts";

test("trailing blanks and repeated empty lines are removed, blanks within lines stay", () => {
  expect(tidied(" a  b \t\n\n \n\nc \n")).toBe("a  b\n\nc");
  expect(visibleText("a\u200Bb  \n")).toBe("ab");
});

test("a run of a million blanks within a line is looked through once", () => {
  const run = `a${" ".repeat(1_000_000)}b`;
  expect(tidied(`${run} \n`)).toBe(run);
});
