// Open files that a process of a tool may have: those of limits.ts, or fewer where the server itself may not have as many. A limit above
// its own is refused by the kernel.

import { textIn } from "../core/readable.ts";
import { SANDBOX_OPEN_FILES_MAX } from "./limits.ts";

/** The limit for processes of tools. */
export function openFilesLimit(): number {
  const [, hard] = /^Max open files\s+\S+\s+(\d+)/m.exec(textIn("/proc/self/limits")) ?? [];
  return Math.min(SANDBOX_OPEN_FILES_MAX, Number(hard ?? Infinity)); // "unlimited" is no number
}
