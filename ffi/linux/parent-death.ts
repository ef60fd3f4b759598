// Ends a helper process with its parent, also while it stands in native code, where no event loop runs that would notice.
// The kernel does it, in two ways: the parent-death signal, which ends with the thread that started the helper and which a
// parent that is dead already does not send; and a pipe whose other end the parent holds, which reports its end however early
// or late that comes. Needs no thread of the helper's own.

import { dlopen } from "bun:ffi";

const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;

// fcntl(2)
const SET_DESCRIPTOR_FLAGS = 2;
const CLOSE_ON_EXECUTION = 1;
const GET_FLAGS = 3;
const SET_FLAGS = 4;
const SET_OWNER = 8;
const SET_SIGNAL = 10;
const SIGNAL_DRIVEN = 0x2000; // O_ASYNC

const POLL_HANG_UP = 16;

/**
 * Has the kernel kill this process when its parent is gone. `pipe` is the descriptor of the parent's pipe, where it has one.
 * Does nothing on systems other than Linux, where a helper ends at the next turn of its event loop.
 */
export function endWithParent(pipe: number): void {
  if (process.platform !== "linux") return;
  const parent = process.ppid;
  try {
    const { symbols } = dlopen("libc.so.6", {
      prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" },
      fcntl: { args: ["i32", "i32", "i64"], returns: "i32" },
      poll: { args: ["ptr", "u64", "i32"], returns: "i32" },
    });
    symbols.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    symbols.fcntl(pipe, SET_DESCRIPTOR_FLAGS, CLOSE_ON_EXECUTION);
    symbols.fcntl(pipe, SET_OWNER, process.pid);
    symbols.fcntl(pipe, SET_SIGNAL, SIGKILL);
    const flags = symbols.fcntl(pipe, GET_FLAGS, 0);
    if (flags >= 0) symbols.fcntl(pipe, SET_FLAGS, flags | SIGNAL_DRIVEN);
    // It may have died before the kernel knew.
    const state = Buffer.alloc(8); // struct pollfd
    state.writeInt32LE(pipe, 0);
    const isClosed = symbols.poll(state, 1, 0) > 0 && (state.readInt16LE(6) & POLL_HANG_UP) !== 0;
    if (isClosed || process.ppid !== parent) process.kill(process.pid, "SIGKILL");
  } catch {
    return; // another C library
  }
}
