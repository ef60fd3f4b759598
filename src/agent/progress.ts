// Event data of refused calls, and the text summary of executed ones.

import { unreachable } from "../core/assert.ts";
import type { ToolProgress } from "../core/agent.ts";
import { defined } from "../core/defined.ts";

/** Why a call was not executed. */
export interface Refusal {
  readonly status: "denied" | "error";
  /** For the user. */
  readonly message: string;
  /** For the model. */
  readonly text: string;
}

/** Data of the `complete` event of a refused call whose first event had the data `calling`. */
export function refusedProgress(calling: ToolProgress, { status, message, text }: Refusal): ToolProgress {
  switch (calling.tool_type) {
    case "code_execution":
      return { tool_type: "code_execution", exception: message };
    case "shell": {
      const { commands } = calling;
      return {
        tool_type: "shell",
        ...defined({ commands }),
        status,
        stderr: message,
        timed_out: false,
      };
    }
    case "web_search":
      return { tool_type: "web_search" };
    case "custom":
      return { tool_type: "custom", content: text };
    default:
      return unreachable(calling);
  }
}

/** Result of a call as a few lines of text. */
export function resultContent(data: ToolProgress): string {
  switch (data.tool_type) {
    case "code_execution": {
      const { stdout, stderr, exception, result, files_not_stored: rest } = data;
      const more = rest === undefined ? undefined : `${rest} more files were not stored`;
      return lines({ stdout, stderr, exception, result, files: more });
    }
    case "shell": {
      const { stdout, stderr, exit_code, status, working_directory, timed_out, files_not_stored } = data;
      const known = { stdout, stderr, exit_code, status, working_directory, timed_out, files_not_stored };
      return JSON.stringify(
        Object.fromEntries(Object.entries(known).filter(([, value]) => (value ?? null) !== null)),
      );
    }
    case "web_search": {
      const { results_count: count, sources, error } = data;
      const found = count === undefined ? "" : `${count} results\n`;
      return (found + lines({ sources: sources?.join(", "), error })).trimEnd();
    }
    case "custom":
      return data.content ?? "";
    default:
      return unreachable(data);
  }
}

function lines(fields: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}

/** The data with U+FFFD in place of lone surrogates, which JSON of other programs may hold and UTF-8 cannot. */
export function wellFormed<T extends ToolProgress>(data: T): T {
  const json = JSON.stringify(data);
  if (!/\\ud[89a-f][0-9a-f]{2}/i.test(json)) return data; // JSON escapes lone surrogates only
  const whole: unknown = JSON.parse(json, (_key, value: unknown) =>
    typeof value === "string" ? value.toWellFormed() : value,
  );
  return whole as T; // only texts within strings have changed
}
