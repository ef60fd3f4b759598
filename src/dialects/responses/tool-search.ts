// Searches for tools as output items: those that the server has executed, as a call and its output, and calls that the client executes.

import { type Static, Type } from "@sinclair/typebox";
import type { FoundTool } from "../../core/agent.ts";
import { argumentsObject } from "../shared/call-arguments.ts";
import { jsonObject } from "../shared/json-object.ts";
import type { SearchComplete } from "../shared/tool-search.ts";

/** Name of the search for the model. */
export const TOOL_SEARCH_NAME = "tool_search";

const status = Type.Union(
  [Type.Literal("in_progress"), Type.Literal("completed"), Type.Literal("incomplete")],
  { description: "State of the item." },
);
const common = {
  id: Type.String({ description: "Id of the item." }),
  call_id: Type.Union([Type.String(), Type.Null()], { description: "Links a call and its output." }),
  execution: Type.Union([Type.Literal("server"), Type.Literal("client")], {
    description: "Who executes the search.",
  }),
  status,
};

export const ToolSearchCallItem = Type.Object(
  { type: Type.Literal("tool_search_call"), ...common, arguments: jsonObject("What was searched for.") },
  { $id: "ToolSearchCallItem", description: "A search for tools." },
);
export type ToolSearchCallItem = Static<typeof ToolSearchCallItem>;

export const ToolSearchOutputItem = Type.Object(
  {
    type: Type.Literal("tool_search_output"),
    ...common,
    tools: Type.Array(jsonObject("A function that was found.")),
  },
  { $id: "ToolSearchOutputItem", description: "The tools that a search has found." },
);
export type ToolSearchOutputItem = Static<typeof ToolSearchOutputItem>;

/** The call of a search. */
export function searchCallItem(
  id: string,
  { callId, args, execution }: { callId: string; args: string; execution: "server" | "client" },
): ToolSearchCallItem {
  const input = argumentsObject(args);
  return { type: "tool_search_call", id, status: "completed", call_id: callId, execution, arguments: input };
}

/** The output of a search of the server. */
export function searchOutputItem(
  id: string,
  { callId, data }: SearchComplete,
  functionOf: (tool: FoundTool) => object,
): ToolSearchOutputItem {
  const tools = data.tools.map((tool) => ({ ...functionOf(tool) }));
  return { type: "tool_search_output", id, status: "completed", call_id: callId, execution: "server", tools };
}
