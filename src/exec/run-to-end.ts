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
  const deadline = new Deadline(process, timeoutMs, signal);
  try {
    const ending = await process.ended;
    await drained;
    return { ending, stdout: stdout.take(), stderr: stderr.take(), timedOut: deadline.timedOut };
  } finally {
    deadline.clear();
  }
}

/** Kills a process after a time, or when a signal aborts. */
export class Deadline {
  timedOut = false;
  private readonly timer: ReturnType<typeof setTimeout>;
  private readonly signal: AbortSignal | undefined;
  private readonly cancel: () => void;

  constructor(process: Pick<ConfinedProcess, "kill">, timeoutMs: number, signal: AbortSignal | undefined) {
    this.signal = signal;
    this.cancel = () => process.kill();
    this.timer = setTimeout(() => {
      this.timedOut = true;
      process.kill();
    }, timeoutMs);
    signal?.addEventListener("abort", this.cancel);
    if (signal?.aborted === true) this.cancel();
  }

  clear(): void {
    clearTimeout(this.timer);
    this.signal?.removeEventListener("abort", this.cancel);
  }
}
