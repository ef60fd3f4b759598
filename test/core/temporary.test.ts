// What processes leave in the folder for temporary files when they end, and when they are killed.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { deadTemporaries, temporaryFolder, writeAside } from "../../src/core/temporary.ts";
import { tempDir } from "../helpers/tmp.ts";

const MODULE = resolve(import.meta.dir, "../../src/core/temporary.ts");

/** What keeps a process. */
const STAY = "setInterval(() => {}, 1e6)";

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
  const [first, second] = [other(parent, STAY), other(parent, STAY)];
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
  mkdirSync(join(parent, ".svc-run-empty"));
  const elsewhere = tempDir();
  writeFileSync(join(elsewhere, "lock"), "");
  symlinkSync(elsewhere, join(parent, ".svc-run-link"));
  expect(deadTemporaries(parent)).toEqual([]);
  expect(existsSync(own)).toBe(true);
});

test("a folder that is not there is named", () => {
  expect(() => temporaryFolder("a", join(tempDir(), "none"))).toThrow(/none cannot be written to \(ENOENT/);
});

test("a file is made beside what another process makes, and what a killed one has left goes", async () => {
  const parent = tempDir();
  const target = join(parent, "adapter.gguf");
  const [living, killed] = [other(parent, STAY), other(parent, STAY)];
  const [kept, left] = await Promise.all([folderOf(living), folderOf(killed)]);
  killed.kill("SIGKILL");
  await killed.exited;
  writeAside(target, (aside) => {
    writeFileSync(aside, "whole");
    expect([existsSync(target), existsSync(kept), existsSync(left)]).toEqual([false, true, false]);
  });
  expect(readdirSync(parent).toSorted()).toEqual([basename(dirname(kept)), "adapter.gguf"]);
  const broken = (aside: string): void => {
    writeFileSync(aside, "ha");
    throw new Error("half");
  };
  expect(() => writeAside(target, broken)).toThrow("half");
  expect([readFileSync(target, "utf8"), readdirSync(parent).length]).toEqual(["whole", 2]);
  living.kill("SIGKILL");
  await living.exited;
});
