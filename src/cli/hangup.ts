// SIGHUP: the configuration is read anew. What cannot be read changes nothing.

import { closeSync, openSync } from "node:fs";
import { formatProblems } from "../config/problem.ts";
import type { LoadResult } from "../config/resolve.ts";
import type { Settings } from "../config/settings.ts";

export interface Reread {
  readonly reread: () => LoadResult;
  /** Takes over what can change; names it, and what needs a restart. */
  readonly apply: (next: Settings) => {
    readonly changed: readonly string[];
    readonly waiting: readonly string[];
  };
  readonly say: (line: string) => void;
}

/**
 * Reads the configuration at each SIGHUP from now on. Where the signal means that the terminal is gone from which the server was
 * started, it ends the server as ever.
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
      say(`${formatProblems(result.problems)}\nSIGHUP: nothing is changed.`);
      return;
    }
    const { changed, waiting } = apply(result.settings);
    say(`SIGHUP: ${changed.length === 0 ? "nothing is changed" : `changed ${changed.join(", ")}`}.`);
    if (waiting.length > 0) say(`SIGHUP: a restart is needed to change ${waiting.join(", ")}.`);
  });
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}
