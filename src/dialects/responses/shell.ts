// Shell calls of the server as output items.

import type { AgentEvent, ToolProgress } from "../../core/agent.ts";
import { isRecord } from "../shared/check.ts";
import type { ShellCallItem, ShellOutputItem } from "./output-items.ts";

/** Exit code where a signal ended the commands, or where they were not run. */
const NO_EXIT_CODE = -1;

export type ShellCalling = Extract<AgentEvent, { type: "tool_calling" }> & { readonly data: ShellProgress };
export type ShellComplete = Extract<AgentEvent, { type: "tool_complete" }> & { readonly data: ShellProgress };
type ShellProgress = Extract<ToolProgress, { tool_type: "shell" }>;

/** Whether the commands of a shell are about to run. */
export function isShellCalling(event: AgentEvent): event is ShellCalling {
  return event.type === "tool_calling" && event.data.tool_type === "shell";
}

/** Whether the commands of a shell have run. */
export function isShellComplete(event: AgentEvent): event is ShellComplete {
  return event.type === "tool_complete" && event.data.tool_type === "shell";
}

/** The item of commands that are about to run. */
export function shellCallItem(id: string, { callId, data, arguments: json }: ShellCalling): ShellCallItem {
  const args = argumentsOf(json);
  return {
    type: "shell_call",
    id,
    status: "in_progress",
    call_id: callId,
    action: {
      commands: [...(data.commands ?? [])],
      timeout_ms: integerOf(args["timeout_ms"]),
      max_output_length: integerOf(args["max_output_length"]),
    },
    environment: null,
  };
}

/** The item of what came of them. */
export function shellOutputItem(id: string, event: ShellComplete): ShellOutputItem {
  const { callId, data, arguments: json } = event;
  const outcome =
    data.timed_out === true
      ? ({ type: "timeout" } as const)
      : ({ type: "exit", exit_code: data.exit_code ?? NO_EXIT_CODE } as const);
  return {
    type: "shell_call_output",
    id,
    status: "completed",
    call_id: callId,
    max_output_length: integerOf(argumentsOf(json)["max_output_length"]),
    output: [{ stdout: data.stdout ?? "", stderr: data.stderr ?? "", outcome }],
  };
}

/** Models write the arguments, so they may be anything. */
function argumentsOf(json: string): Readonly<Record<string, unknown>> {
  try {
    const args: unknown = JSON.parse(json);
    return isRecord(args) ? args : {};
  } catch {
    return {}; // the tool has already told the model
  }
}

function integerOf(value: unknown): number | null {
  return typeof value === "number" && Number.isInteger(value) ? value : null;
}
