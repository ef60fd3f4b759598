// Processes that have files of models mapped: an engine, until it ends. Linux; elsewhere none is found.
// Rejected: asking the server (another address, user or cache); lock files, which other programs do not hold.

import { readFileSync } from "node:fs";
import { namesIn } from "../core/readable.ts";

/** The process that has one of these files mapped; undefined where none has, as far as this user may look. Paths without links. */
export function processWith(files: readonly string[]): number | undefined {
  for (const name of namesIn("/proc")) {
    const pid = Number(name);
    if (Number.isInteger(pid) && isMapped(pid, files)) return pid;
  }
  return undefined;
}

function isMapped(pid: number, files: readonly string[]): boolean {
  try {
    const lines = readFileSync(`/proc/${pid}/maps`, "utf8").split("\n");
    return lines.some((line) => files.some((file) => line.endsWith(` ${file}`)));
  } catch {
    return false; // it has ended, or is another user's
  }
}
