// Faults of native code in helper processes that have no handler of their own: see ffi/shim/crash.cpp for text models.

import { dlopen } from "bun:ffi";

const SIGNALS = [4, 6, 7, 8, 11]; // SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV
const DEFAULT_ACTION = 0n;
const PR_SET_DUMPABLE = 4;

/**
 * Has this process end at once, and without a core file, when native code fails; its parent says so. The runtime's own handlers
 * would report a bug of the runtime. Does nothing on systems other than Linux with glibc.
 */
export function leaveCrashesToParent(): void {
  if (process.platform !== "linux") return;
  try {
    const { symbols } = dlopen("libc.so.6", {
      signal: { args: ["i32", "u64"], returns: "u64" },
      prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" },
    });
    for (const signal of SIGNALS) symbols.signal(signal, DEFAULT_ACTION);
    symbols.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  } catch {
    // another C library
  }
}
