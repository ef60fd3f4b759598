// SIGHUP: reloads the configuration. An invalid one changes nothing.

import { closeSync, openSync } from "node:fs";
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
 * Reloads the configuration at each SIGHUP. If the signal means that the server's terminal has closed, the server ends.
 */
export function rereadAtHangup({ reread, apply, say }: Reread): void {
  const hadTerminal = hasTerminal();
  process.on("SIGHUP", () => {
    if (hadTerminal && !hasTerminal()) {
      process.kill(process.pid, "SIGTERM");
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
