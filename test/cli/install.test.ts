// install.sh as it works from a release archive; building from source is for the slower rings.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const SCRIPT = new URL("../../install.sh", import.meta.url).pathname;
let folder = "";
let archive = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "svc install-"));
  archive = join(folder, "svc-0.9.4");
  mkdirSync(archive);
  copyFileSync(SCRIPT, join(archive, "install.sh"));
  chmodSync(join(archive, "install.sh"), 0o755);
});

beforeEach(() => release("first"));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Puts a binary into the archive that prints `word`. */
function release(word: string): void {
  writeFileSync(join(archive, "svc"), `#!/bin/sh\necho ${word}\n`, { mode: 0o755 });
}

function install(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const env = { PATH: "/usr/bin:/bin", HOME: join(folder, "home"), ...environment };
  const run = Bun.spawnSync([join(archive, "install.sh"), ...args], { cwd: folder, env });
  return { exit: run.exitCode, out: run.stdout.toString(), err: run.stderr.toString() };
}

function runs(binary: string): string {
  return Bun.spawnSync([binary]).stdout.toString().trim();
}

test.each([
  ["--user", "home/.local/bin"],
  ["--install", "home/.local/bin"],
  ["", "home/.local/bin"],
  ["--prefix=a prefix", "a prefix/bin"],
])("%p installs into %s, relative to the caller, and says that it is not on PATH", (option, bin) => {
  const { exit, out } = install(option === "" ? [] : [option]);
  expect(exit).toBe(0);
  expect(runs(join(folder, bin, "svc"))).toBe("first");
  expect(out).toContain(`${join(folder, bin)} is not on PATH`);
});

test("an absolute prefix on PATH, twice: replaced whole, nothing left beside it", () => {
  const prefix = join(folder, "twice here");
  const bin = join(prefix, "bin");
  const PATH = `/usr/bin:/bin:${bin}`;
  expect(install(["--prefix", prefix], { PATH }).out).toContain("start it with: svc serve");
  release("second");
  expect(install(["--prefix", prefix], { PATH }).exit).toBe(0);
  expect(runs(join(bin, "svc"))).toBe("second");
  expect(readdirSync(bin)).toEqual(["svc"]);
});

test("--help explains and touches nothing", () => {
  const { exit, out } = install(["--help"], { HOME: join(folder, "nobody") });
  expect([exit, out.includes("--prefix DIR"), existsSync(join(folder, "nobody"))]).toEqual([0, true, false]);
});

test.each([
  [["--prefx"], 2, "--prefx is not an option"],
  [["--prefix"], 2, "--prefix needs a directory"],
  [["--prefix", "/dev/null"], 1, "cannot create /dev/null/bin"],
])("%p ends with %d: %s", (args, code, words) => {
  const { exit, err } = install(args);
  expect(exit).toBe(code);
  expect(err).toContain(words);
});

test("a folder with neither sources nor a binary is refused", () => {
  rmSync(join(archive, "svc"));
  expect(install([])).toMatchObject({ exit: 1 });
});
