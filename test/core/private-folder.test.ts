import { afterEach, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { privateFolder } from "../../src/core/private-folder.ts";

const root = mkdtempSync(join(tmpdir(), "private-folder-"));
const { getuid } = process;
afterEach(() => {
  if (getuid !== undefined) process.getuid = getuid;
  for (const name of ["new", "open", "link"]) rmSync(join(root, name), { recursive: true, force: true });
});

test("a folder that is made is writable for its user alone", () => {
  privateFolder(join(root, "new/inner"));
  expect(statSync(join(root, "new/inner")).mode & 0o777).toBe(0o700);
});

test("a folder that others can write to is refused", () => {
  mkdirSync(join(root, "open"));
  chmodSync(join(root, "open"), 0o777);
  expect(() => privateFolder(join(root, "open"))).toThrow("only its owner");
});

test("without user ids, as on Windows, a folder will do and a link will not", () => {
  delete process.getuid;
  mkdirSync(join(root, "open"));
  privateFolder(join(root, "open"));
  symlinkSync(join(root, "open"), join(root, "link"));
  expect(() => privateFolder(join(root, "link"))).toThrow("must be a folder");
});
