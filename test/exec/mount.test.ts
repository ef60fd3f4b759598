// Files of earlier calls in a new working directory: put back once, never outside, never over another file.

import { expect, test } from "bun:test";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Mounts } from "../../src/exec/mount.ts";
import { tempDir } from "../helpers/tmp.ts";

const file = (name: string, text = name) => ({ id: name, name, body: new Blob([text]) });

test("files come back under their names, also in folders", async () => {
  const path = tempDir();
  const outside = tempDir();
  symlinkSync(outside, join(path, "link"));
  writeFileSync(join(path, "mine.txt"), "mine");
  const mounts = new Mounts({ path, isPrivate: true });
  const earlier = [
    file("keep.csv"),
    file("a/b/größe 报告.txt"),
    file("../x"),
    file("/etc/y"),
    file("link/z"),
    file("mine.txt", "other"),
  ];
  expect(await mounts.restore(() => earlier)).toEqual({ restored: ["keep.csv", "a/b/größe 报告.txt"] });
  expect(readFileSync(join(path, "a/b/größe 报告.txt"), "utf8")).toBe("a/b/größe 报告.txt");
  expect(readFileSync(join(path, "mine.txt"), "utf8")).toBe("mine");
  expect(existsSync(join(outside, "z"))).toBe(false);
  expect(await mounts.restore(() => earlier)).toBeUndefined();
});
