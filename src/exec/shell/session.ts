// Shell of one session: a working directory, and a process for each call.

import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import {
  SHELL_CALLS_KEPT_MAX,
  SHELL_OUTPUT_CHARS,
  SHELL_OUTPUT_CHARS_MAX,
  SHELL_SCRIPT_BYTES_MAX,
  SHELL_WORD_BYTES_MAX,
} from "../limits.ts";
import { shorten } from "../../core/shorten.ts";
import type { Sandbox, SharedNetwork, Workdir } from "../../sandbox/types.ts";
import { endingText } from "../ending.ts";
import { Mounts } from "../mount.ts";
import { produced, readAll, snapshot } from "../produced.ts";
import type { Owned } from "../session-map.ts";
import type { Renewal, ShellCall, ShellResult, SurfaceCall, SurfaceResult } from "../types.ts";
import { CallProcess } from "./call-process.ts";

export interface ShellSessionOptions {
  readonly sandbox: Sandbox;
  /** Absolute path of the shell. */
  readonly shell: string;
  readonly timeoutMs: number;
  readonly workdir: Workdir;
  /** Session id. */
  readonly sessionId: string;
}

/** Bytes to keep for a number of characters: at most three for a UTF-16 unit, at least 1 KiB. */
function bytesFor(chars: number): number {
  return Math.max(1024, chars * 3);
}

export class ShellSession implements Owned {
  private readonly options: ShellSessionOptions;
  private readonly mounts: Mounts;
  /** The latest call, and earlier ones with background processes. */
  private calls: readonly CallProcess[] = [];
  private network: SharedNetwork | undefined;
  /** Aborted when the session ends. */
  private readonly stopping = new AbortController();

  constructor(options: ShellSessionOptions) {
    this.options = options;
    this.mounts = new Mounts(options.workdir);
  }

  async run(call: ShellCall, signal: AbortSignal): Promise<ShellResult> {
    const { sandbox, shell, workdir, sessionId } = this.options;
    const renewal = await this.mount(call);
    const network = (this.network ??= await sandbox.joinNetwork(sessionId));
    const before = await snapshot(workdir.path, this.stopping.signal);
    if (this.stopping.signal.aborted) throw new ServiceError("shutting_down", "the session is being closed");
    const startedAt = performance.now();
    const chars = Math.min(call.maxOutputLength ?? SHELL_OUTPUT_CHARS, SHELL_OUTPUT_CHARS_MAX);
    const timeoutMs = Math.min(call.timeoutMs ?? this.options.timeoutMs, this.options.timeoutMs);
    const argv = scriptWords(shell, call.commands.join("\n"));
    const process = this.begin(
      new CallProcess({ sandbox, argv, workdir, network, bytesMax: bytesFor(chars) }),
    );
    const run = await process.run(timeoutMs, signal);
    const { code, limit } = run.ending;
    const isOwnEnd = code !== undefined && limit === undefined && !run.timedOut && !signal.aborted;
    const note = limit === undefined ? "" : endingText(run.ending, sandbox.effective.limits);
    return {
      ...defined({ renewal }),
      status: run.timedOut ? "timeout" : isOwnEnd && code === 0 ? "success" : "error",
      commands: call.commands,
      workingDirectory: workdir.path,
      stdout: shorten(run.stdout, chars),
      stderr: [shorten(run.stderr, chars), note].filter((text) => text !== "").join("\n"),
      exitCode: isOwnEnd ? code : null,
      timedOut: run.timedOut,
      executionMs: performance.now() - startedAt,
      ...(await produced(workdir.path, before, call.outputs, this.stopping.signal)),
    };
  }

  async surface(call: SurfaceCall): Promise<SurfaceResult> {
    const { workdir } = this.options;
    await this.mount(call);
    const files = await readAll(workdir.path, call.outputs);
    const isComplete = files.every((file) => "content" in file);
    return { status: isComplete ? "success" : "error", workingDirectory: workdir.path, files };
  }

  stop(): void {
    this.stopping.abort();
    for (const call of this.calls) call.kill();
  }

  async close(): Promise<void> {
    await Promise.all(this.calls.map(({ ended }) => ended));
    this.network?.leave();
    await this.options.sandbox.removeWorkdir(this.options.workdir);
  }

  /** Ends the oldest calls above the limit of kept ones. */
  private begin(call: CallProcess): CallProcess {
    const busy = this.calls.filter((earlier) => earlier.endUnlessBusy());
    for (const oldest of busy.slice(0, Math.max(0, busy.length + 1 - SHELL_CALLS_KEPT_MAX))) oldest.kill();
    this.calls = [...this.calls, call];
    void call.ended.then(() => (this.calls = this.calls.filter((one) => one !== call)));
    return call;
  }

  private async mount({ inputs, skills, earlier = () => [] }: SurfaceCall): Promise<Renewal | undefined> {
    const renewal = await this.mounts.restore(earlier);
    await this.mounts.mountSkills(skills);
    await this.mounts.mountInputs(inputs);
    return renewal;
  }
}

/** Pieces of a script are joined by the shell itself, for which the kernel's limit on one word does not hold. */
const JOIN = 'svc_script=$(printf %s "$@"); set --; eval "unset svc_script; $svc_script"';

/** Command line of a script. Throws ServiceError for one that no command line holds. */
function scriptWords(shell: string, script: string): readonly string[] {
  const bytes = Buffer.byteLength(script);
  if (bytes <= SHELL_WORD_BYTES_MAX) return [shell, "-c", script];
  if (bytes > SHELL_SCRIPT_BYTES_MAX) {
    const message = `commands has ${bytes} bytes; at most ${SHELL_SCRIPT_BYTES_MAX} are accepted; write large files in parts, or with Python`;
    throw new ServiceError("invalid_request", message, { param: "commands" });
  }
  const pieces: string[] = [];
  for (let at = 0; at < script.length;) {
    let end = Math.min(at + SHELL_WORD_BYTES_MAX / 3, script.length); // a UTF-16 unit has at most three bytes
    if (end < script.length && script.codePointAt(end - 1) !== script.charCodeAt(end - 1)) end--;
    pieces.push(script.slice(at, end));
    at = end;
  }
  return [shell, "-c", JOIN, shell, ...pieces];
}
