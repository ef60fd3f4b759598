// Python of one session: a working directory, and an interpreter that starts with the first cell and again after a crash.

import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import type { Sandbox, SharedNetwork, Workdir } from "../../sandbox/types.ts";
import { endingText } from "../ending.ts";
import { Mounts } from "../mount.ts";
import { produced, snapshot } from "../produced.ts";
import type { Owned } from "../session-map.ts";
import type { PythonCall, PythonResult, Renewal } from "../types.ts";
import type { FontCaches } from "./font-cache.ts";
import { Interpreter, type Outcome, type PythonProgram } from "./interpreter.ts";

export interface PythonSessionOptions {
  readonly sandbox: Sandbox;
  readonly program: PythonProgram;
  readonly workdir: Workdir;
  readonly timeoutSecs: number;
  /** Session id. */
  readonly sessionId: string;
  /** matplotlib's list of fonts, for folders of one session. */
  readonly fonts: Pick<FontCaches, "ready">;
  /** Whether other sessions use the folder too: nothing is put back into it. */
  readonly isShared: boolean;
}

/** Fields of a result besides files and output. */
type Verdict = Pick<PythonResult, "status" | "images" | "videoFrames"> &
  Partial<Pick<PythonResult, "exception" | "result" | "timeout">>;

export class PythonSession implements Owned {
  private readonly options: PythonSessionOptions;
  private readonly mounts: Mounts;
  private interpreter: Interpreter | undefined;
  private network: SharedNetwork | undefined;
  /** Aborted when the session ends. */
  private readonly stopping = new AbortController();

  constructor(options: PythonSessionOptions) {
    this.options = options;
    this.mounts = new Mounts(options.workdir);
  }

  async run(call: PythonCall, signal: AbortSignal): Promise<PythonResult> {
    const { workdir, timeoutSecs } = this.options;
    const renewal = await this.renewal(call);
    await this.mounts.mountInputs(call.inputs);
    const before = await snapshot(workdir.path, this.stopping.signal);
    const startedAt = performance.now();
    this.network ??= await this.options.sandbox.joinNetwork(this.options.sessionId);
    const interpreter = this.running(this.network);
    const outcome = await interpreter.run(call.code, timeoutSecs * 1000, signal);
    const executionMs = performance.now() - startedAt;
    const production = await produced(workdir.path, before, call.outputs, this.stopping.signal);
    return {
      ...this.verdict(outcome, signal),
      ...defined({ renewal }),
      workingDirectory: workdir.path,
      executionMs: outcome.type === "replied" ? (outcome.reply.ms ?? executionMs) : executionMs,
      ...interpreter.takeOutput(),
      ...production,
    };
  }

  async reset(): Promise<void> {
    const { interpreter } = this;
    if (interpreter?.isAlive !== true) return;
    if (!(await interpreter.reset())) await interpreter.kill(); // the next one starts empty too
  }

  stop(): void {
    this.stopping.abort();
    void this.interpreter?.kill();
  }

  async close(): Promise<void> {
    await this.interpreter?.kill();
    this.network?.leave();
    await this.options.sandbox.removeWorkdir(this.options.workdir);
  }

  /** Prepares the folder for the first call. Undefined for later ones. */
  private async renewal({ earlier = () => [] }: PythonCall): Promise<Renewal | undefined> {
    const { isShared, fonts } = this.options;
    const renewal = await this.mounts.restore(isShared ? () => [] : earlier);
    if (renewal === undefined) return undefined;
    if (isShared) return {};
    const list = fonts.ready;
    if (list !== undefined) await this.mounts.place(list.name, new Blob([list.content]));
    return renewal;
  }

  private running(network: SharedNetwork): Interpreter {
    if (this.stopping.signal.aborted) throw new ServiceError("shutting_down", "the session is being closed");
    if (this.interpreter?.isAlive === true) return this.interpreter;
    const { sandbox, program, workdir } = this.options;
    this.interpreter = new Interpreter(sandbox, program, { workdir, network });
    return this.interpreter;
  }

  private verdict(outcome: Outcome, signal: AbortSignal): Verdict {
    const { timeoutSecs, sandbox } = this.options;
    const reply = outcome.type === "replied" ? outcome.reply : undefined;
    const common = { images: reply?.images ?? [], videoFrames: reply?.frames ?? [] };
    if (outcome.type === "ended") {
      const why = endingText(outcome.ending, sandbox.effective.limits);
      return {
        ...common,
        status: "error",
        exception: `The interpreter has ended and its variables are lost. ${why}`,
      };
    }
    const isKilled = outcome.type === "killed";
    if (isKilled || outcome.wasInterrupted) {
      if (signal.aborted) return { ...common, status: "error", exception: "The call was cancelled." };
      return {
        ...common,
        status: "timeout",
        timeout: { secs: timeoutSecs, interrupted: !isKilled, killed: isKilled },
      };
    }
    const { exception, repr, type } = outcome.reply;
    if (typeof exception === "string") return { ...common, status: "error", exception };
    if (typeof repr !== "string") return { ...common, status: "success" };
    return { ...common, status: "success", result: { repr, type: type ?? "" } };
  }
}
