// Searches for tools that the server has executed, among the events of an answer.

import type { AgentEvent, FoundTool, ToolProgress } from "../../core/agent.ts";

type Progress = Extract<ToolProgress, { tool_type: "custom" }>;

/** A search that has ended well. */
export type SearchComplete = Extract<AgentEvent, { type: "tool_complete" }> & {
  readonly data: Progress & { readonly tools: readonly FoundTool[] };
};

/** Whether an event reports a finished search. */
export function isSearchComplete(event: AgentEvent): event is SearchComplete {
  return (
    event.type === "tool_complete" && event.data.tool_type === "custom" && event.data.tools !== undefined
  );
}
