// A running Python interpreter: requests, replies, output and exit.
// Output goes through pipes that the server drains, replies through descriptor 3: an interpreter that read its own output would hang
// when a library fills the pipe while it holds Python's lock.

import { randomUUID } from "node:crypto";
import { PYTHON_INTERRUPT_MS, PYTHON_OUTPUT_BYTES_MAX, PYTHON_OUTPUT_MS } from "../limits.ts";
import type { ConfinedProcess, Ending, Sandbox, SandboxJob } from "../../sandbox/types.ts";
import { Output } from "../output.ts";
import script from "./interpreter.py" with { type: "text" };
import { Replies, type Reply } from "./reply.ts";

/** A checked Python: see check.ts. */
export interface PythonProgram {
  /** Absolute. */
  readonly path: string;
  /** Paths of its files. */
  readonly readPaths: readonly string[];
}

/** Result of a cell. */
export type Outcome =
  | { readonly type: "replied"; readonly reply: Reply; readonly wasInterrupted: boolean }
  | { readonly type: "killed" }
  | { readonly type: "ended"; readonly ending: Ending };

interface Ended {
  readonly ending: Ending;
}

/** Surroundings of an interpreter. */
export type Place = Pick<SandboxJob, "workdir" | "network">;

export class Interpreter {
  private readonly process: ConfinedProcess;
  private readonly replies = new Replies();
  private readonly stdout = new Output(PYTHON_OUTPUT_BYTES_MAX);
  private readonly stderr = new Output(PYTHON_OUTPUT_BYTES_MAX);
  private readonly drained: Promise<unknown>;
  private requests = 0;
  private hasEnded = false;

  constructor(sandbox: Sandbox, { path, readPaths }: PythonProgram, place: Place) {
    const { workdir } = place;
    this.process = sandbox.spawn({
      argv: [path, "-c", script, workdir.path],
      ...place,
      readPaths,
      env: { MPLBACKEND: "Agg" },
      conversation: true,
    });
    this.drained = Promise.all([
      this.stdout.drain(this.process.stdout),
      this.stderr.drain(this.process.stderr),
    ]);
    void this.process.ended.then(() => (this.hasEnded = true));
    void this.readReplies();
  }

  get isAlive(): boolean {
    return !this.hasEnded;
  }

  /** Runs a cell. The timeout or an aborted signal interrupts it, then kills it. */
  async run(code: string, timeoutMs: number, signal: AbortSignal): Promise<Outcome> {
    const mark = randomUUID();
    const marked = Promise.all([this.stdout.untilMark(mark), this.stderr.untilMark(mark)]);
    const replied = this.request({ type: "execute", code, mark });
    const first = Promise.race<Reply | Ended>([replied, this.process.ended.then((ending) => ({ ending }))]);

    let outcome = await before(timeoutMs, signal, first);
    const wasInterrupted = outcome === undefined;
    if (outcome === undefined) {
      this.process.interrupt();
      outcome = await before(PYTHON_INTERRUPT_MS, undefined, first);
    }
    if (outcome === undefined) {
      await this.kill();
      return { type: "killed" };
    }
    if ("ending" in outcome) {
      await this.drained;
      return { type: "ended", ending: outcome.ending };
    }
    await before(PYTHON_OUTPUT_MS, undefined, marked);
    return { type: "replied", reply: outcome, wasInterrupted };
  }

  /** Forgets variables. False if the interpreter did not answer. */
  async reset(): Promise<boolean> {
    const reply = this.request({ type: "reset" }).then(() => true);
    const ended = this.process.ended.then(() => false);
    return (await before(PYTHON_INTERRUPT_MS, undefined, Promise.race([reply, ended]))) ?? false;
  }

  /** Output of cells since the last call. */
  takeOutput(): { readonly stdout: string; readonly stderr: string } {
    return { stdout: this.stdout.take(), stderr: this.stderr.take() };
  }

  async kill(): Promise<void> {
    this.process.kill();
    await this.process.ended;
    await this.drained;
  }

  private request(request: Readonly<Record<string, unknown>>): Promise<Reply> {
    const id = ++this.requests;
    const reply = this.replies.next(id);
    this.process.write(`${JSON.stringify({ id, ...request })}\n`);
    return reply;
  }

  private async readReplies(): Promise<void> {
    const { replies } = this.process;
    if (replies === undefined) return;
    const isSound = await this.replies.read(replies).catch(() => true); // it has ended
    if (!isSound) this.process.kill();
  }
}

/** Value of `event`; undefined after the timeout or an aborted signal. */
async function before<T>(
  ms: number,
  signal: AbortSignal | undefined,
  event: Promise<T>,
): Promise<T | undefined> {
  const over = Promise.withResolvers<undefined>();
  const end = (): void => over.resolve(undefined);
  const timer = setTimeout(end, ms);
  signal?.addEventListener("abort", end);
  if (signal?.aborted === true) end();
  try {
    return await Promise.race([event, over.promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  }
}
