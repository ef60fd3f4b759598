// Common rules of requests to servers that cannot choose among several tools. Pure.

import type { ToolSpec } from "../core/message.ts";
import type { ToolChoice } from "../core/run.ts";
import type { EngineName } from "./engines.ts";

/** Only svc supports a choice among several tools: other servers get only these tools. */
export function allowedTools(tools: readonly ToolSpec[], choice: ToolChoice): readonly ToolSpec[] {
  if (choice.type !== "named") return tools;
  return tools.filter(({ name }) => choice.names.includes(name));
}

/** The one tool that must be called, if the request names it. */
export function forcedTool(choice: ToolChoice): string | undefined {
  return choice.type === "named" && choice.required && choice.names.length === 1
    ? choice.names[0]
    : undefined;
}

/** llama-server takes a mode alone; it reads a named tool as "auto". It gets only the tools that may be called. */
export function takesToolNames(engine: EngineName): boolean {
  return engine !== "llama-server";
}

/** Whether the answer must be a tool call. */
export function isForced(choice: ToolChoice): boolean {
  return choice.type === "required" || (choice.type === "named" && choice.required);
}
