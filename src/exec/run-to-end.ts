// Runs a process to its end and collects its output.

import type { ConfinedProcess, Ending } from "../sandbox/types.ts";
import { Output } from "./output.ts";

export interface EndedRun {
  readonly ending: Ending;
  readonly stdout: string;
  readonly stderr: string;
  /** It exceeded its time and was killed. */
  readonly timedOut: boolean;
}

const BYTES_MAX = 1024 * 1024;

/** Waits for the exit; kills the process after `timeoutMs` or when the signal aborts. */
export async function runToEnd(
  process: ConfinedProcess,
  timeoutMs: number,
  options: { readonly signal?: AbortSignal; readonly bytesMax?: number } = {},
): Promise<EndedRun> {
  const { signal, bytesMax = BYTES_MAX } = options;
  const stdout = new Output(bytesMax);
  const stderr = new Output(bytesMax);
  const drained = Promise.all([stdout.drain(process.stdout), stderr.drain(process.stderr)]);
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    process.kill();
  }, timeoutMs);
  const cancel = (): void => process.kill();
  signal?.addEventListener("abort", cancel);
  if (signal?.aborted === true) cancel();
  try {
    const ending = await process.ended;
    await drained;
    return { ending, stdout: stdout.take(), stderr: stderr.take(), timedOut };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", cancel);
  }
}
