// Linux's time slices, as /proc tells them, and whether a thread may ask for its own.

import { dlopen, ptr } from "bun:ffi";
import { readFileSync } from "node:fs";

/** The longest slice that Linux grants, in milliseconds. */
export const LONGEST_SLICE_MS = 100;

/** Time slice of a thread in milliseconds (`thread`: a path below /proc); NaN where the kernel does not tell it, or it has ended. */
export function sliceMs(thread: string): number {
  try {
    return Number(/^se\.slice\s*:\s*(\d+)/m.exec(readFileSync(`/proc/${thread}/sched`, "utf8"))?.[1]) / 1e6;
  } catch {
    return NaN;
  }
}

/** CPUs that this process may run on, which a quota of a container does not change; 1 where the system does not tell. */
export function allowedCpus(): number {
  if (process.platform !== "linux") return 1;
  const mask = /^Cpus_allowed:\s*([\da-f,]+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "1";
  return BigInt(`0x${mask.replaceAll(",", "")}`)
    .toString(2)
    .replaceAll("0", "").length;
}

/**
 * Whether asking for a slice has an effect here: the kernel is Linux 6.12 or later, no filter of system calls is in the way,
 * and this process is scheduled as ordinary ones are. Tried on the calling thread, whose own slice is put back.
 */
export function canAskForSlices(): boolean {
  if (process.platform !== "linux") return false;
  const numbers = { x64: [315, 314], arm64: [275, 274] }[process.arch as string];
  if (!numbers) return false;
  const [get, set] = numbers as [number, number];
  const libc = openLibc();
  if (!libc) return false;
  const attributes = new DataView(new ArrayBuffer(48)); // struct sched_attr, its first version
  const at = ptr(attributes);
  if (libc.syscall(get, 0, at, 48, 0) !== 0n) return false;
  const before = attributes.getBigUint64(24, true);
  attributes.setBigUint64(24, BigInt(LONGEST_SLICE_MS) * 1_000_000n, true);
  if (libc.syscall(set, 0, at, 0, 0) !== 0n) return false;
  const granted = sliceMs("thread-self") === LONGEST_SLICE_MS;
  attributes.setBigUint64(24, before, true);
  libc.syscall(set, 0, at, 0, 0);
  return granted;
}

function openLibc() {
  try {
    return dlopen("libc.so.6", {
      syscall: { args: ["i64", "i32", "ptr", "u32", "u32"], returns: "i64" },
    }).symbols;
  } catch {
    return null; // another C library
  }
}
