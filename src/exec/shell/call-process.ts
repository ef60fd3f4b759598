// Process of a shell call. It outlives its commands while background processes run, such as a development server, and ends when its
// input is closed.

import { randomUUID } from "node:crypto";
import type { ConfinedProcess, Sandbox, SharedNetwork, Workdir } from "../../sandbox/types.ts";
import { Output } from "../output.ts";
import { Deadline, type EndedRun } from "../run-to-end.ts";

/** Runs the commands, writes the end mark, reports the exit code, then waits for the end of its input. */
const SCRIPT = `"$@" </dev/null 3>&-
code=$?
printf %s "$0"
printf %s "$0" >&2
echo $code >&3
read -r nothing`;

export interface CallProcessOptions {
  readonly sandbox: Sandbox;
  /** The shell with its arguments. */
  readonly argv: readonly string[];
  readonly workdir: Workdir;
  readonly network: SharedNetwork;
  /** Kept bytes of stdout and of stderr. */
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

  /** Resolves once the process and its descendants have exited. */
  get ended(): Promise<unknown> {
    return this.process.ended;
  }

  /** Waits for the commands; kills them after `timeoutMs` or when the signal aborts. */
  async run(timeoutMs: number, signal: AbortSignal): Promise<EndedRun> {
    const { process, stdout, stderr } = this;
    const marked = Promise.all([stdout.untilMark(this.mark), stderr.untilMark(this.mark)]);
    const drained = Promise.all([stdout.drain(process.stdout), stderr.drain(process.stderr)]);
    const reported = exitCode(process);
    const deadline = new Deadline(process, timeoutMs, signal);
    try {
      const code = await reported;
      await marked;
      const isOver = code === undefined || deadline.timedOut || signal.aborted || !this.endUnlessBusy();
      const end = isOver ? await process.ended : undefined;
      if (isOver) await drained;
      const ending = end?.limit !== undefined || code === undefined ? (end ?? {}) : { code };
      return { ending, stdout: stdout.take(), stderr: stderr.take(), timedOut: deadline.timedOut };
    } finally {
      deadline.clear();
    }
  }

  /** Whether background processes run. Ends the process where none does. */
  endUnlessBusy(): boolean {
    if (this.process.hasOthers()) return true;
    this.process.endInput();
    return false;
  }

  kill(): void {
    this.process.kill();
  }
}

/** Exit code that the script reports; undefined where it was killed before. */
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
