// What was done to a conversation before the model saw it, as lines for people.

import type { CutFile } from "../../core/agent.ts";
import type { AppliedEdit } from "../../core/applied-edit.ts";
import { unreachable } from "../../core/assert.ts";

/** What a model has of a file. */
export function cutLine(file: CutFile): string {
  if (!("unit" in file)) return `${file.name}: the model reads the first ${file.shown} characters`;
  return `${file.name}: the model gets ${file.shown} of ${file.of} ${file.unit}`;
}

/** What an edit left out, what that saves, and what a summary took. */
export function editLine(edit: AppliedEdit): string {
  const saved = `${edit.tokens.toLocaleString("en")} tokens less`;
  switch (edit.type) {
    case "clear_tool_uses":
      return `${counted(edit.uses, "tool result")} left out: ${saved}`;
    case "clear_thinking":
      return `reasoning of ${counted(edit.turns, "turn")} left out: ${saved}`;
    case "compaction": {
      const { promptTokens, completionTokens } = edit.spent;
      const spent = promptTokens + completionTokens;
      const cost = spent === 0 ? "" : `; writing it took ${spent.toLocaleString("en")}`;
      return `a summary stands for the oldest ${counted(edit.replaced, "message")}: ${saved}${cost}`;
    }
    default:
      return unreachable(edit);
  }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
