// The memory policy of a process, as the kernel shows it, where it shows it, and the nodes that the native libraries are told. Two nodes are
// asked for; those that are not there do not count.

import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";

const FILE = JSON.stringify(join(import.meta.dir, "../../ffi/linux/interleaving.ts"));

/** Runs code in a process of its own; prints whether mappings have pages that are placed on nodes in turn, and the nodes. */
async function placementIn(code: string, nodes = ""): Promise<string> {
  const script = `
    const { interleaveMemory } = await import(${FILE});
    ${code}
    const maps = await Bun.file("/proc/self/numa_maps").text();
    const { dlopen: open } = await import("bun:ffi");
    const { getenv } = open("libc.so.6", { getenv: { args: ["cstring"], returns: "cstring" } }).symbols;
    console.log(/ interleave:0/.test(maps), String(getenv(Buffer.from("SVC_MEMORY_NODES\\0"))));`;
  const env = { ...process.env, ...(nodes === "" ? {} : { SVC_MEMORY_NODES: nodes }) };
  const child = Bun.spawn([process.execPath, "-e", script], { env, stdout: "pipe", stderr: "inherit" });
  return (await new Response(child.stdout).text()).trim();
}

const hasNodes = existsSync("/proc/self/numa_maps");
if (!hasNodes) console.log("SKIPPED: memory policies: this kernel has none");

test.skipIf(!hasNodes)("pages are placed on several nodes in turn", async () => {
  expect(await placementIn("interleaveMemory([0, 1]);")).toBe("true 0,1");
  expect(await placementIn("interleaveMemory([0, 1]);", "emulated:3")).toBe("true emulated:3");
});

test.skipIf(!hasNodes)(
  "nothing changes with one node, or a policy that the process was started with",
  async () => {
    const local = `
    const { dlopen } = await import("bun:ffi");
    const set = { args: ["i64", "i32", "ptr", "u64"], returns: "i64" };
    dlopen("libc.so.6", { syscall: set }).symbols.syscall(process.arch === "x64" ? 238 : 237, 4, null, 0);
    interleaveMemory([0, 1]);`;
    expect(await placementIn("interleaveMemory([0]);")).toBe("false null");
    expect(await placementIn(local)).toBe("false null");
  },
);
