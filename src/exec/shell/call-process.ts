// The process of one shell call. It outlives the commands while something runs in their background, a development server
// for example, and ends with its input.

import { randomUUID } from "node:crypto";
import type { ConfinedProcess, Sandbox, SharedNetwork, Workdir } from "../../sandbox/types.ts";
import { Output } from "../output.ts";
import type { EndedRun } from "../run-to-end.ts";

/** Runs the commands, marks the end of their output, reports their exit code, then waits for the end of its input. */
const SCRIPT = `"$@" </dev/null 3>&-
code=$?
printf %s "$0"
printf %s "$0" >&2
echo $code >&3
read -r nothing`;

export interface CallProcessOptions {
  readonly sandbox: Sandbox;
  /** The shell and its words. */
  readonly argv: readonly string[];
  readonly workdir: Workdir;
  readonly network: SharedNetwork;
  /** Of standard output and of standard error. */
  readonly bytesMax: number;
}

export class CallProcess {
  private readonly process: ConfinedProcess;
  private readonly mark = randomUUID();
  private readonly stdout: Output;
  private readonly stderr: Output;

  constructor({ sandbox, argv, workdir, network, bytesMax }: CallProcessOptions) {
    this.stdout = new Output(bytesMax);
    this.stderr = new Output(bytesMax);
    this.process = sandbox.spawn({
      argv: ["/bin/sh", "-c", SCRIPT, this.mark, ...argv],
      workdir,
      network,
      conversation: true,
      adoptsOrphans: true,
    });
  }

  /** Resolves once the process and all that its commands have started are gone. */
  get ended(): Promise<unknown> {
    return this.process.ended;
  }

  /** Waits for the commands, which end after `timeoutMs` or when the signal aborts. */
  async run(timeoutMs: number, signal: AbortSignal): Promise<EndedRun> {
    const { process, stdout, stderr } = this;
    const marked = Promise.all([stdout.untilMark(this.mark), stderr.untilMark(this.mark)]);
    const drained = Promise.all([stdout.drain(process.stdout), stderr.drain(process.stderr)]);
    const reported = exitCode(process);
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      process.kill();
    }, timeoutMs);
    const cancel = (): void => process.kill();
    signal.addEventListener("abort", cancel);
    if (signal.aborted) cancel();
    try {
      const code = await reported;
      await marked;
      const isOver = code === undefined || timedOut || signal.aborted || !this.endUnlessBusy();
      const end = isOver ? await process.ended : undefined;
      if (isOver) await drained;
      const ending = end?.limit !== undefined || code === undefined ? (end ?? {}) : { code };
      return { ending, stdout: stdout.take(), stderr: stderr.take(), timedOut };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", cancel);
    }
  }

  /** Ends the process where nothing runs in the background any more. False where it was ended. */
  endUnlessBusy(): boolean {
    if (this.process.hasOthers()) return true;
    this.process.endInput();
    return false;
  }

  kill(): void {
    this.process.kill();
  }
}

/** What the script reports; undefined where it was ended before. */
async function exitCode({ replies }: ConfinedProcess): Promise<number | undefined> {
  let text = "";
  try {
    for await (const chunk of replies ?? []) {
      text += String(chunk);
      if (text.includes("\n")) break; // processes of the sandbox itself may hold the pipe for longer
    }
  } catch {
    return undefined; // the pipe broke
  }
  return /^\d+\n/.test(text) ? Number.parseInt(text, 10) : undefined;
}
