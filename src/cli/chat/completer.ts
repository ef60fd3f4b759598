// What the Tab key offers in a chat.

import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Completer } from "node:readline";
import { typedPath } from "./attachments.ts";
import { commandWords } from "./commands.ts";

/** Commands, names of models, and paths where a command takes one. */
export function chatCompleter(models: readonly string[]): Completer {
  return (line) => {
    const words = commandWords(line, models);
    const typed = line.slice(line.search(/\S*$/));
    return [words === "path" ? paths(typed) : [...words], typed];
  };
}

/** Files and folders that begin like this; names with spaces have to be typed. */
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
