// Ends a helper process with its parent, also while it stands in native code, where no event loop runs that would notice.

import { dlopen } from "bun:ffi";

const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;

/**
 * Has the kernel kill this process when its parent is gone: prctl(2). Does nothing on systems other than Linux with glibc,
 * where a helper ends at the next turn of its event loop.
 */
export function endWithParent(): void {
  if (process.platform !== "linux") return;
  const parent = process.ppid;
  try {
    const { symbols } = dlopen("libc.so.6", {
      prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" },
    });
    symbols.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  } catch {
    return; // another C library
  }
  if (process.ppid !== parent) process.kill(process.pid, "SIGKILL"); // it died before the kernel knew
}
