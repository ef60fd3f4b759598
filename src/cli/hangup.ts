// SIGHUP: the terminal has closed, or a server shall reload its configuration. An invalid one changes nothing.

import { closeSync, openSync, readFileSync } from "node:fs";
import { formatProblems } from "../config/problem.ts";
import type { LoadResult } from "../config/resolve.ts";
import type { Settings } from "../config/settings.ts";
import { StartError } from "../core/start-error.ts";

export interface Reread {
  readonly reread: () => LoadResult;
  /** Applies what can change at run time; returns the changed settings and those that need a restart. */
  readonly apply: (next: Settings) => {
    readonly changed: readonly string[];
    readonly waiting: readonly string[];
  };
  readonly say: (line: string) => void;
}

/**
 * Whether the process was started to outlive its terminal, as by nohup: the signal is ignored. Asked before the first handler, which
 * ends that.
 */
export function outlivesTerminal(): boolean {
  try {
    const ignored = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
    return (BigInt(`0x${ignored}`) & 1n) === 1n; // SIGHUP is the first
  } catch {
    return false;
  }
}

/**
 * Reloads the configuration at each SIGHUP. If the signal means that the server's terminal has closed, the server ends, or goes on if
 * it was started to do so.
 */
export function rereadAtHangup({ reread, apply, say }: Reread): void {
  const outlives = outlivesTerminal();
  let hadTerminal = hasTerminal();
  process.on("SIGHUP", () => {
    if (hadTerminal && !hasTerminal()) {
      hadTerminal = false;
      if (!outlives) process.kill(process.pid, "SIGTERM");
      return;
    }
    const result = reread();
    if (!result.ok) {
      say(`${formatProblems(result.problems)}\nSIGHUP: nothing changed.`);
      return;
    }
    const applied = applyOrSay(apply, result.settings, say);
    if (applied === undefined) return;
    const { changed, waiting } = applied;
    say(`SIGHUP: ${changed.length === 0 ? "nothing changed" : `changed ${changed.join(", ")}`}.`);
    if (waiting.length > 0) say(`SIGHUP: restart to change ${waiting.join(", ")}.`);
  });
}

function applyOrSay(apply: Reread["apply"], settings: Settings, say: Reread["say"]) {
  try {
    return apply(settings);
  } catch (thrown) {
    if (!(thrown instanceof StartError)) throw thrown;
    say(`${thrown.message}\nSIGHUP: nothing changed.`);
    return undefined;
  }
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}
