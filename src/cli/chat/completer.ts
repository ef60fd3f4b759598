// Tab completion of a chat.

import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Completer } from "node:readline";
import { typedPath } from "./attachments.ts";
import { commandWords } from "./commands.ts";

/** Completes commands, models, and paths of commands that take one. */
export function chatCompleter(models: readonly string[]): Completer {
  return (line) => {
    const words = commandWords(line, models);
    const typed = line.slice(line.search(/\S*$/));
    return [words === "path" ? paths(typed) : [...words], typed];
  };
}

/** Files and folders with this prefix; names with spaces are left out. */
function paths(typed: string): string[] {
  const folder = typed.endsWith("/") ? typed : dirname(typed);
  try {
    return readdirSync(typedPath(folder) || ".", { withFileTypes: true })
      .map((entry) => `${join(folder, entry.name)}${entry.isDirectory() ? "/" : ""}`)
      .filter((path) => path.startsWith(typed) && !path.includes(" "));
  } catch {
    return [];
  }
}
