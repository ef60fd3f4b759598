// Runs each job in a reader process of its own, killed after a timeout. It parses what comes from anywhere, so it gets none of the server's environment,
// and its memory is bounded.

import { existsSync } from "node:fs";
import { ownCommand } from "../core/own-command.ts";
import { Semaphore } from "../core/semaphore.ts";
import { READER_CODE_BYTES, READER_DATA_BYTES_MAX } from "./limits.ts";
import { READER_WORD, type ReaderTask, type ReaderTasks } from "./protocol.ts";

/** Runs a job. Throws ReaderFailure, or the signal's reason. */
export type RunReader = <T extends ReaderTask>(
  task: T,
  given: ReaderTasks[T]["given"],
  signal: AbortSignal,
) => Promise<ReaderTasks[T]["reply"]>;

/** A reader took too long, or died of what it read. */
export class ReaderFailure extends Error {
  readonly isLate: boolean;

  constructor(isLate: boolean) {
    super(isLate ? "the reader took too long" : "the reader died");
    this.isLate = isLate;
  }
}

export interface ReaderOptions {
  /** Of one job. */
  readonly timeoutMs: number;
  /** Jobs at the same time. */
  readonly atOnce: number;
}

export function readerProcesses({ timeoutMs, atOnce }: ReaderOptions): RunReader {
  const slots = new Semaphore(atOnce);
  return (task, given, signal) =>
    slots.run(async () => {
      const text = await readOnce(JSON.stringify({ task, ...given }), timeoutMs, signal);
      return JSON.parse(text) as ReaderTasks[typeof task]["reply"]; // from svc's own process
    }, signal);
}

const SHELL = "/bin/sh";
/** Before the start: the runtime then reserves less. What may be written to counts, not the address space. */
const LIMITED = `ulimit -d ${READER_DATA_BYTES_MAX / 1024} && exec "$0" "$@"`;

/** Else the runtime finds too little memory for compiled code, and is eighty times as slow. Bytes. */
export const READER_ENVIRONMENT = { BUN_JSC_jitMemoryReservationSize: `${READER_CODE_BYTES}` };

/** The command of a reader. `own`: what starts svc. */
export function readerCommand(own: readonly string[] = ownCommand()): readonly string[] {
  const command = [...own, READER_WORD];
  return process.platform === "linux" && existsSync(SHELL) ? [SHELL, "-c", LIMITED, ...command] : command;
}

async function readOnce(job: string, timeoutMs: number, signal: AbortSignal): Promise<string> {
  const child = Bun.spawn([...readerCommand()], {
    stdio: [new Blob([job]), "pipe", "ignore", "pipe"], // the last one: core/parent-pipe.ts
    env: READER_ENVIRONMENT,
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
  const kill = (): void => child.kill("SIGKILL");
  signal.addEventListener("abort", kill, { once: true });
  const output = new Response(child.stdout).text().catch(() => ""); // killed: detected by its exit below
  const [text] = await Promise.all([output, child.exited]);
  signal.removeEventListener("abort", kill);
  signal.throwIfAborted();
  if (child.exitCode === 0) return text;
  throw new ReaderFailure(child.signalCode === "SIGKILL");
}
