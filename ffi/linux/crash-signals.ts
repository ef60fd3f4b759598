// Native crashes in helper processes without a handler of their own; text models have ffi/shim/crash.cpp.

import { dlopen } from "bun:ffi";

const SIGNALS = [4, 6, 7, 8, 11]; // SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV
const DEFAULT_ACTION = 0n;
const PR_SET_DUMPABLE = 4;

/**
 * Makes this process end at once, without a core file, when native code crashes; the parent reports it. The runtime's own
 * handlers would report a bug of the runtime. Does nothing on systems other than Linux.
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
