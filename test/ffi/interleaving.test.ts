// The memory policy of a process, as the kernel shows it, where it shows it. Two nodes are asked for; those that are not there do not count.

import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";

const FILE = JSON.stringify(join(import.meta.dir, "../../ffi/linux/interleaving.ts"));

/** Runs code in a process of its own; returns the mappings whose pages are placed on nodes in turn. */
async function interleavedIn(code: string): Promise<number> {
  const script = `
    const { interleaveMemory } = await import(${FILE});
    ${code}
    const maps = await Bun.file("/proc/self/numa_maps").text();
    console.log(maps.split("\\n").filter((line) => / interleave:0/.test(line)).length);`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
  return Number(await new Response(child.stdout).text());
}

const hasNodes = existsSync("/proc/self/numa_maps");
if (!hasNodes) console.log("SKIPPED: memory policies: this kernel has none");

test.skipIf(!hasNodes)("pages are placed on several nodes in turn", async () => {
  expect(await interleavedIn("interleaveMemory([0, 1]);")).toBeGreaterThan(0);
});

test.skipIf(!hasNodes)(
  "nothing changes with one node, or a policy that the process was started with",
  async () => {
    const local = `
    const { dlopen } = await import("bun:ffi");
    const set = { args: ["i64", "i32", "ptr", "u64"], returns: "i64" };
    dlopen("libc.so.6", { syscall: set }).symbols.syscall(process.arch === "x64" ? 238 : 237, 4, null, 0);
    interleaveMemory([0, 1]);`;
    expect(await interleavedIn("interleaveMemory([0]);")).toBe(0);
    expect(await interleavedIn(local)).toBe(0);
  },
);
