// An executable with the Vulkan back end inside (src/build.ts --with vulkan): it needs no installation.

import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { RELEASE } from "../../src/backends/catalog.ts";
import { newFolder, runShell } from "../helpers/binary.ts";
import { IS_SLOW, IS_WANTED, OPTIONS } from "./device.ts";

describe.skipIf(!IS_WANTED || !IS_SLOW)("a build with Vulkan inside", () => {
  const binary = join(newFolder(), "svc");
  const cache = newFolder();

  const run = (words: string) => runShell(`"${binary}" ${words}`, { ...OPTIONS, cache });

  test("has its device in a fresh cache, and keeps the back end", async () => {
    const file = process.env["SVC_TEST_VULKAN"];
    const back = file === undefined ? "vulkan" : `vulkan=${file}`;
    const root = join(import.meta.dir, "../..");
    const build = Bun.spawnSync([process.execPath, "src/build.ts", "--with", back, binary], { cwd: root });
    expect([build.exitCode, build.stderr.toString()]).toEqual([0, ""]);
    expect((await run("doctor")).out).toMatch(/ok\s+accelerator\s+0: llvmpipe/);
    expect(readdirSync(join(cache, "svc", "backends"))).toEqual([`vulkan-${RELEASE}`]);
    expect((await run("backend list")).out).toMatch(/^vulkan\s+installed/m);
    const removed = await run("backend remove vulkan");
    expect([removed.exit, removed.err]).toEqual([
      1,
      expect.stringContaining("vulkan is a part of this executable"),
    ]);
    expect(readdirSync(join(cache, "svc", "backends"))).toEqual([`vulkan-${RELEASE}`]);
  }, 170_000);

  test("is refused with the file of another release, and for another platform", () => {
    const refused = (...words: readonly string[]): string => {
      const root = join(import.meta.dir, "../..");
      const { exitCode, stderr } = Bun.spawnSync([process.execPath, "src/build.ts", ...words], { cwd: root });
      expect(exitCode).not.toBe(0);
      return stderr.toString();
    };
    expect(refused("--with", `vulkan=${import.meta.path}`)).toContain("is not libggml-vulkan.so of");
    expect(refused("--with", "metal")).toContain("the back end to embed is vulkan");
    expect(refused("--with", "vulkan", "--platform", "linux-arm64")).toContain("for linux-x64 only");
  }, 60_000);
});
