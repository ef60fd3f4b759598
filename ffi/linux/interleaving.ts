// Memory over all NUMA nodes: weights and KV cache are read by the threads of all of them, and each node has memory of its own speed.
// As numactl --interleave, by one system call; packed weights lie by row instead (ffi/kernels/memory_nodes.h). Rejected: a setting, since
// numactl is respected.

import { dlopen } from "bun:ffi";
import { ownProcessors } from "./usable-cores.ts";

/** Numbers of system calls: set_mempolicy(2) and get_mempolicy(2), which no C library has. */
const CALLS: Readonly<Record<string, { readonly get: number; readonly set: number }>> = {
  x64: { get: 239, set: 238 },
  arm64: { get: 236, set: 237 },
};
const MPOL_DEFAULT = 0;
const MPOL_INTERLEAVE = 3;
/** As many nodes as Linux can have. */
const NODES_MAX = 1024;

/**
 * Pages that this thread, and threads that it starts from now on, touch first lie on the given nodes in turn; by default on those
 * that the process may use. The kernels place their rows on them. Nothing happens with one node, or if the process was started with
 * another policy (numactl). Threads write memory that others read, so without it all weights would lie on the node of the thread that
 * loads them.
 */
export function interleaveMemory(
  nodes: readonly number[] = ownProcessors()?.nodes.map(({ number }) => number) ?? [],
): void {
  const numbers = CALLS[process.arch];
  if (process.platform !== "linux" || numbers === undefined || nodes.length < 2) return;
  try {
    const get = { args: ["i64", "ptr", "ptr", "u64", "ptr", "u64"], returns: "i64" } as const;
    const policy = new Int32Array(1);
    const asked = dlopen("libc.so.6", { syscall: get }).symbols.syscall(
      numbers.get,
      policy,
      null,
      0,
      null,
      0,
    );
    if (asked !== 0n || policy[0] !== MPOL_DEFAULT) return;
    const mask = new Uint8Array(NODES_MAX / 8);
    for (const node of nodes) mask[node >> 3] = (mask[node >> 3] ?? 0) | (1 << (node & 7));
    const { syscall, setenv } = dlopen("libc.so.6", {
      syscall: { args: ["i64", "i32", "ptr", "u64"], returns: "i64" },
      setenv: { args: ["cstring", "cstring", "i32"], returns: "i32" },
    }).symbols;
    // A refusal costs speed only. The kernel counts one bit less.
    if (syscall(numbers.set, MPOL_INTERLEAVE, mask, NODES_MAX + 1) !== 0n) return;
    setenv(Buffer.from("SVC_MEMORY_NODES\0"), Buffer.from(`${nodes.join(",")}\0`), 0);
  } catch {
    // no C library of that name
  }
}
