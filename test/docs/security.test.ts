// SECURITY.md names a test for each promise: the files exist.

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");
const text = readFileSync(join(ROOT, "SECURITY.md"), "utf8");

test("every file that SECURITY.md names exists", () => {
  const paths = [...text.matchAll(/`((?:test|bench|prebuilt|docs)\/[^`]+)`/g)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(60);
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test("every promise has a test", () => {
  const rows = text.split("\n").filter((line) => line.startsWith("| ") && line.split("|").length === 5);
  const withoutTest = rows.filter(
    (row) => !/`(?:test|bench|prebuilt)\//.test(row) && !row.startsWith("| Promise"),
  );
  expect(rows.length).toBeGreaterThan(30);
  expect(withoutTest).toEqual([]);
});
