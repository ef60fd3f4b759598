// Paths that lead nowhere are no fault: files of a folder of models may be removed while it is looked at.

import { expect, test } from "bun:test";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realPathOf, statsOf } from "../../src/core/readable.ts";
import { tempDir } from "../helpers/tmp.ts";

test("what is gone, and what lies below a file, has no facts and is named as it is", () => {
  const folder = tempDir();
  const file = join(folder, "a.gguf");
  writeFileSync(file, "abc");
  symlinkSync(file, join(folder, "link.gguf"));
  expect(statsOf(join(folder, "link.gguf"))?.size).toBe(3);
  expect(realPathOf(join(folder, "link.gguf"))).toBe(realPathOf(file));
  for (const path of [join(folder, "gone.gguf"), join(file, "below.gguf")]) {
    expect(statsOf(path)).toBeUndefined();
    expect(realPathOf(path)).toBe(path);
  }
});
