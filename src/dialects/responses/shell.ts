// Converts server-executed shell calls to output items.
// One entry an output with stdout, stderr and outcome, as the official clients declare it: the AI SDK rejects a whole response over
// another.

import type { AgentEvent, ToolProgress } from "../../core/agent.ts";
import { argumentsObject } from "../shared/call-arguments.ts";
import type { ShellCallItem, ShellOutputItem } from "./output-items.ts";

/** Exit code for commands that were ended by a signal or not run. */
const NO_EXIT_CODE = -1;

export type ShellCalling = Extract<AgentEvent, { type: "tool_calling" }> & { readonly data: ShellProgress };
export type ShellComplete = Extract<AgentEvent, { type: "tool_complete" }> & { readonly data: ShellProgress };
type ShellProgress = Extract<ToolProgress, { tool_type: "shell" }>;

/** Whether an event announces a shell call. */
export function isShellCalling(event: AgentEvent): event is ShellCalling {
  return event.type === "tool_calling" && event.data.tool_type === "shell";
}

/** Whether an event reports a finished shell call. */
export function isShellComplete(event: AgentEvent): event is ShellComplete {
  return event.type === "tool_complete" && event.data.tool_type === "shell";
}

/** The `shell_call` item of an announced call. */
export function shellCallItem(id: string, { callId, data, arguments: json }: ShellCalling): ShellCallItem {
  const args = argumentsObject(json);
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

/** The `shell_call_output` item of a finished call. */
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
    max_output_length: integerOf(argumentsObject(json)["max_output_length"]),
    output: [{ stdout: data.stdout ?? "", stderr: data.stderr ?? "", outcome }],
  };
}

function integerOf(value: unknown): number | null {
  return typeof value === "number" && Number.isInteger(value) ? value : null;
}
