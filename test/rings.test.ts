// The rings' own watch over their tests.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "./helpers/tmp.ts";
import { watched } from "./rings.ts";

test("a test that never yields is killed with its process, and what it said before is kept", async () => {
  const file = join(tempDir(), "endless.ts");
  writeFileSync(file, 'console.log("begun"); for (;;) if (process.argv.length > 99) break;');
  const { log, code, isSilent } = await watched([process.execPath, file], 1000);
  expect([log, code, isSilent]).toEqual(["begun\n", 1, true]);
});

test("an exit status goes on", async () => {
  const { code, isSilent } = await watched(["sh", "-c", "echo; exit 3"], 20_000);
  expect([code, isSilent]).toEqual([3, false]);
});
