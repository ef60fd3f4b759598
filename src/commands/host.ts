// Environment of a command: options, signals, output. Commands neither read the environment nor end the process.

import type { AppOptions } from "../app/server.ts";
import type { Environment } from "../config/sources.ts";
import { reasonOf } from "../core/reason.ts";
import { EXIT } from "../cli/invocation.ts";

export interface CommandHost {
  readonly options: AppOptions;
  readonly environment: Environment;
  /** Prints a line on stderr. */
  readonly complain: (line: string) => void;
  /** Resolves at the first SIGINT or SIGTERM, or when the terminal closes unless that reloads the settings. */
  readonly untilSignal: (hangup?: "ends" | "reloads") => Promise<void>;
}

/** Whether a terminal knows escape sequences: that of Emacs' shell does not. */
export function hasEscapes(environment: Environment): boolean {
  return environment["TERM"] !== "dumb";
}

/** Whether progress is shown in place on stderr; else in lines, as in a log. */
export function showsInPlace(environment: Environment): boolean {
  return process.stderr.isTTY && hasEscapes(environment);
}

/** Prints the reason of a failure and returns its exit code. */
export function failed({ complain }: Pick<CommandHost, "complain">, error: unknown): number {
  complain(`svc: ${reasonOf(error)}`);
  return EXIT.failure;
}

/** A signal that is aborted with this reason when the command shall end. */
export function stoppable({ untilSignal }: Pick<CommandHost, "untilSignal">, reason: string): AbortSignal {
  const stop = new AbortController();
  void untilSignal().then(() => stop.abort(new Error(reason)));
  return stop.signal;
}
