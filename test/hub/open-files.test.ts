// Whether a process has a model's file mapped.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { processWith } from "../../src/hub/open-files.ts";
import { tempDir } from "../helpers/tmp.ts";

test.skipIf(process.platform !== "linux")("the process that has one of the files mapped", () => {
  const [loaded, other] = ["loaded", "other"].map((name) => join(tempDir(), name));
  for (const file of [loaded, other]) writeFileSync(file ?? "", new Uint8Array(4096));
  const mapped = Bun.mmap(loaded ?? "");
  expect(processWith([other ?? ""])).toBeUndefined();
  expect(processWith([other ?? "", loaded ?? ""])).toBe(process.pid);
  expect(mapped).toHaveLength(4096);
});
