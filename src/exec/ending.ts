// Exit reason of a process as text for the model.

import { unreachable } from "../core/assert.ts";
import type { BrokenLimit, Ending, Limits } from "../sandbox/types.ts";

export function endingText({ code, signal, limit }: Ending, limits: Limits | undefined): string {
  if (limit !== undefined) return `It was over its limit: ${limitText(limit, limits)}.`;
  return signal === undefined ? `Its exit code was ${code ?? 0}.` : `It was ended by ${signal}.`;
}

function limitText(limit: BrokenLimit, limits: Limits | undefined): string {
  switch (limit) {
    case "memory":
      return `${limits?.memoryMb ?? ""} MiB of memory`;
    case "cpu":
      return `${limits?.cpuSecs ?? ""} seconds of processor time`;
    case "procs":
      return `${limits?.procs ?? ""} processes and threads`;
    case "disk":
      return "what may lie in its working directory";
    default:
      return unreachable(limit);
  }
}
