// What processes leave in the folder for temporary files when they end, and when they are killed.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { deadTemporaries, temporaryFolder } from "../../src/core/temporary.ts";
import { tempDir } from "../helpers/tmp.ts";

const MODULE = resolve(import.meta.dir, "../../src/core/temporary.ts");

/** A process that has made a folder; its script goes on with `then`. */
function other(parent: string, then: string) {
  const script = `import { temporaryFolder } from ${JSON.stringify(MODULE)};
    const made = temporaryFolder("images", ${JSON.stringify(parent)});
    console.log(made);
    ${then}`;
  return Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
}

async function folderOf({ stdout }: ReturnType<typeof other>): Promise<string> {
  const { value } = await stdout.getReader().read();
  return new TextDecoder().decode(value).trim();
}

test("the folder of a process that lives is not dead, that of a killed one is", async () => {
  const parent = tempDir();
  const [first, second] = [
    other(parent, "setInterval(() => {}, 1e6)"),
    other(parent, "setInterval(() => {}, 1e6)"),
  ];
  const made = await Promise.all([folderOf(first), folderOf(second)]);
  expect(made.map((folder) => existsSync(folder))).toEqual([true, true]);
  expect(deadTemporaries(parent)).toEqual([]);
  first.kill("SIGKILL");
  await first.exited;
  expect(deadTemporaries(parent)).toEqual([join(made[0] ?? "", "..")]);
  second.kill("SIGKILL");
  await second.exited;
  expect(deadTemporaries(parent)).toHaveLength(2);
});

test("a process that ends takes its folder along, unless something is in it", async () => {
  const parent = tempDir();
  await other(parent, `require("node:fs").rmdirSync(made)`).exited;
  expect(readdirSync(parent)).toEqual([]);
  await other(parent, "process.exit(0)").exited;
  expect(deadTemporaries(parent)).toHaveLength(1);
});

test("what looks like one is none: without a lock, a link, this process's own", () => {
  const parent = tempDir();
  const own = temporaryFolder("a", parent);
  mkdirSync(join(parent, "svc-run-empty"));
  const elsewhere = tempDir();
  writeFileSync(join(elsewhere, "lock"), "");
  symlinkSync(elsewhere, join(parent, "svc-run-link"));
  expect(deadTemporaries(parent)).toEqual([]);
  expect(existsSync(own)).toBe(true);
});

test("a folder that is not there is named, with the cure", () => {
  expect(() => temporaryFolder("a", join(tempDir(), "none"))).toThrow(
    /cannot be written \(ENOENT.*; set TMPDIR/,
  );
});
