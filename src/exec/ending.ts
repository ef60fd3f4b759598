// Exit reason of a process as text for the model.

import { assert, unreachable } from "../core/assert.ts";
import type { BrokenLimit, Ending, Limits } from "../sandbox/types.ts";

/** One sentence. `limits` are those in force, which must hold the limit that was broken. */
export function endingText({ code, signal, limit }: Ending, limits: Limits | undefined): string {
  if (limit !== undefined) return `It exceeded its limit of ${limitText(limit, limits)}.`;
  return signal === undefined ? `Its exit code was ${code}.` : `It was killed by ${signal}.`;
}

function limitText(limit: BrokenLimit, limits: Limits | undefined): string {
  assert(limits !== undefined, "only limits in force are broken");
  switch (limit) {
    case "memory":
      return `${limits.memoryMb} MiB of memory`;
    case "cpu":
      return `${limits.cpuSecs} seconds of processor time`;
    case "procs":
      return `${limits.procs} processes and threads`;
    case "disk":
      return "disk space for its working directory";
    default:
      return unreachable(limit);
  }
}
