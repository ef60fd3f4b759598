// Compute threads as Linux shows them. Elsewhere, or without /proc, they are tied and left there.

import { dlopen } from "bun:ffi";
import { readdirSync, readFileSync } from "node:fs";
import type { ThreadSystem, TiedThread } from "./compute-threads.ts";
import type { Native } from "./library.ts";
import type { Handle } from "./text.ts";

/** USER_HZ, the unit of /proc/stat, which is the same on every processor that svc is built for. */
const TICK_MS = 10;
/** Bytes of a cpu_set_t. */
const SET_BYTES = 128;

export function threadSystem(native: Native, context: Handle): ThreadSystem {
  let setAffinity: SetAffinity | undefined;
  return {
    tie: (count) => {
      native.svc_tie_threads(count);
      setAffinity ??= affinityCall();
      const tied = setAffinity === undefined ? [] : tiedThreads();
      // Two threads of one processor, or a team without a thread for each: not tied by us.
      const processors = new Set(tied.map(({ processor }) => processor));
      return tied.length === count && processors.size === count ? tied : [];
    },
    move: (thread, processor) => {
      if (setAffinity !== undefined) moveThread(setAffinity, thread, processor);
    },
    waited: (thread) => {
      const text = readText(`/proc/self/task/${thread}/schedstat`);
      return text === undefined ? undefined : Number(text.split(" ")[1]) / 1e6; // running, waiting, slices
    },
    idle: idleTimes,
    now: () => performance.now(),
    use: (threads, threadsBatch) => native.svc_context_threads(context, threads, threadsBatch),
  };
}

/** Threads of this process that may use one processor only, by its number: the order in which svc_tie_threads gave them. */
function tiedThreads(): TiedThread[] {
  try {
    const threads = readdirSync("/proc/self/task").flatMap((id) => {
      const status = readText(`/proc/self/task/${id}/status`) ?? "";
      const processor = /^Cpus_allowed_list:\t(\d+)$/m.exec(status)?.[1];
      return processor === undefined ? [] : [{ id: Number(id), processor: Number(processor) }];
    });
    return threads.toSorted((a, b) => a.processor - b.processor);
  } catch {
    return []; // not Linux
  }
}

function idleTimes(): ReadonlyMap<number, number> {
  const lines = (readText("/proc/stat") ?? "").matchAll(/^cpu(\d+) \d+ \d+ \d+ (\d+) (\d+)/gm);
  return new Map(
    Array.from(lines, ([, processor, idle, waiting]) => [
      Number(processor),
      (Number(idle) + Number(waiting)) * TICK_MS, // waiting: for a disk
    ]),
  );
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

type SetAffinity = (thread: number, bytes: bigint, set: Uint8Array) => number;

/** sched_setaffinity of glibc, or of musl, which answers to every name of a C library; undefined elsewhere. */
function affinityCall(): SetAffinity | undefined {
  try {
    const call = { args: ["i32", "u64", "ptr"], returns: "i32" } as const;
    return dlopen("libc.so.6", { sched_setaffinity: call }).symbols.sched_setaffinity;
  } catch {
    return undefined;
  }
}

function moveThread(setAffinity: SetAffinity, thread: number, processor: number): void {
  const set = new Uint8Array(SET_BYTES);
  set[processor >> 3] = 1 << (processor & 7);
  setAffinity(thread, BigInt(SET_BYTES), set); // a refusal costs speed only
}
