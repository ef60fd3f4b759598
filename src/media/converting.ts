// Converts files in reader processes, each once: clients send a conversation's files again with every turn.

import { createHash } from "node:crypto";
import type { ConvertedFile } from "../core/converters.ts";
import { Recent } from "../core/recent.ts";
import { ReaderFailure, type RunReader } from "../reader/process.ts";
import type { ReaderTask, ReaderTasks } from "../reader/protocol.ts";
import { KEPT_BYTES_MAX } from "./limits.ts";

/** Converts a file within a bound, such as of seconds. */
type Convert<T> = (file: ConvertedFile, most: number, signal: AbortSignal) => Promise<T>;

/** The same, which keeps the latest results. */
export function convertingOnce<T>(bytesOf: (result: T) => number, convert: Convert<T>): Convert<T> {
  const kept = new Recent<T>(KEPT_BYTES_MAX, bytesOf);
  return async (file, most, signal) => {
    const key = createHash("sha256").update(file.bytes).update(`${most}`).digest("base64");
    const known = kept.find(key);
    if (known !== undefined) return known;
    const result = await convert(file, most, signal);
    kept.set(key, result);
    return result;
  };
}

/** The reply of a reader. That it took too long, or died of what it read, is the file's problem. */
export async function replyOf<T extends ReaderTask>(
  run: RunReader,
  task: T,
  given: ReaderTasks[T]["given"],
  signal: AbortSignal,
): Promise<ReaderTasks[T]["reply"] | { readonly problem: "tooSlow" | "died" }> {
  try {
    return await run(task, given, signal);
  } catch (error) {
    if (!(error instanceof ReaderFailure)) throw error;
    return { problem: error.isLate ? "tooSlow" : "died" };
  }
}
