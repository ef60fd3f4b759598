import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readHistory, writeHistory } from "../../../src/cli/chat/history.ts";
import { HISTORY_LINE_CHARS_MAX, HISTORY_LINES_MAX } from "../../../src/cli/chat/limits.ts";
import { tempDir } from "../../helpers/tmp.ts";

const root = tempDir();
const temporaryFolder = (): string => mkdtempSync(join(root, "x-"));

test("is kept for its owner alone, oldest line first, and read newest first", () => {
  const file = join(temporaryFolder(), "cache", "history");
  expect(readHistory(file)).toEqual([]);
  writeHistory(file, ["new", "old"]);
  expect(readFileSync(file, "utf8")).toBe("old\nnew\n");
  expect(readHistory(file)).toEqual(["new", "old"]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("has bounds, whoever wrote the file", () => {
  const file = join(temporaryFolder(), "history");
  const lines = Array.from({ length: HISTORY_LINES_MAX + 5 }, (_, i) => `line ${i}`);
  writeFileSync(file, [...lines, "x".repeat(HISTORY_LINE_CHARS_MAX + 1)].join("\n"));
  const read = readHistory(file);
  expect([read.length, read[0], read.at(-1)]).toEqual([HISTORY_LINES_MAX, "line 1004", "line 5"]);
  writeHistory(file, ["y".repeat(HISTORY_LINE_CHARS_MAX + 1), ...lines]);
  expect(readHistory(file)).toHaveLength(HISTORY_LINES_MAX);
});

test("a folder that cannot be written to is no failure", () => {
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, "");
  writeHistory(join(file, "history"), ["line"]);
  expect(readHistory(join(file, "history"))).toEqual([]);
});

test("what a terminal would obey is left out", () => {
  const file = join(temporaryFolder(), "history");
  writeFileSync(file, "a\tb\n\u05e9 \u2424 c\n\x1b]0;t\x07x\r\n\x9b31m\n");
  expect(readHistory(file)).toEqual(["\u05e9 \u2424 c", "a\tb"]);
});
