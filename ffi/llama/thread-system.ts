// Compute threads as Linux shows them. Elsewhere, or without /proc, they are tied and left there.

import { dlopen } from "bun:ffi";
import { textIn } from "../../src/core/readable.ts";
import type { ThreadSystem } from "./compute-threads.ts";
import type { Native } from "../library.ts";
import type { Handle } from "../text.ts";
import { ownProcessors, tiesOf } from "../linux/usable-cores.ts";

/** USER_HZ, the unit of /proc/stat, which is the same on every processor that svc is built for. */
const TICK_MS = 10;
/** Bytes of a cpu_set_t. */
const SET_BYTES = 128;

export function threadSystem(native: Native, context: Handle): ThreadSystem {
  let setAffinity: SetAffinity | undefined;
  let ties: ReadonlyMap<number, readonly number[]> = new Map(); // processors of each core by the first of them
  return {
    tie: (count) => {
      const processors = ownProcessors();
      const sets = processors === undefined ? [] : tiesOf(processors, count);
      const ids = new Int32Array(count);
      if (native.svc_tie_threads(count, sets.length, bytesOf(sets), ids) === 0) return [];
      setAffinity ??= affinityCall();
      // Where two threads share a core none is moved.
      if (setAffinity === undefined || sets.length < count || ids.includes(0)) return [];
      ties = new Map(sets.map((set) => [set[0] ?? 0, set]));
      return Array.from([...ties.keys()], (processor, i) => ({ id: ids[i] ?? 0, processor }));
    },
    move: (thread, processor) => {
      setAffinity?.(thread, BigInt(SET_BYTES), bytesOf([ties.get(processor) ?? [processor]])); // a refusal costs speed only
    },
    waited: (thread) => {
      const text = textIn(`/proc/self/task/${thread}/schedstat`);
      return text === "" ? undefined : Number(text.split(" ")[1]) / 1e6; // running, waiting, slices
    },
    idle: () => {
      const times = idleTimes();
      const idleOf = (set: readonly number[]): number => Math.max(...set.map((one) => times.get(one) ?? 0));
      return new Map(Array.from(ties, ([processor, set]) => [processor, idleOf(set)]));
    },
    now: () => performance.now(),
    use: (threads, threadsBatch) => native.svc_context_threads(context, threads, threadsBatch),
  };
}

/** One cpu_set_t after the other. */
function bytesOf(sets: readonly (readonly number[])[]): Uint8Array {
  const bytes = new Uint8Array(Math.max(1, sets.length) * SET_BYTES);
  for (const [i, set] of sets.entries())
    for (const processor of set) {
      const at = i * SET_BYTES + (processor >> 3);
      bytes[at] = (bytes[at] ?? 0) | (1 << (processor & 7));
    }
  return bytes;
}

function idleTimes(): ReadonlyMap<number, number> {
  const lines = textIn("/proc/stat").matchAll(/^cpu(\d+) \d+ \d+ \d+ (\d+) (\d+)/gm);
  return new Map(
    Array.from(lines, ([, processor, idle, waiting]) => [
      Number(processor),
      (Number(idle) + Number(waiting)) * TICK_MS, // waiting: for a disk
    ]),
  );
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
