// Reader processes for pages of searches.

import { readerProcesses, ReaderFailure, type RunReader } from "../reader/process.ts";
import { SearchFailure } from "./failure.ts";
import { READ_MS, READERS_MAX } from "./limits.ts";

/** Runs a job. Throws SearchFailure, or the signal's reason. */
export type Read = RunReader;

/** `timeoutMs` applies to one job. */
export function createReader(timeoutMs = READ_MS): Read {
  const run = readerProcesses({ timeoutMs, atOnce: READERS_MAX });
  return async (task, given, signal) => {
    try {
      return await run(task, given, signal);
    } catch (error) {
      if (!(error instanceof ReaderFailure)) throw error;
      throw new SearchFailure(
        error.isLate ? "the page is too complex to be read in time" : "the page could not be parsed",
      );
    }
  };
}
