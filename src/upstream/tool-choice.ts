// What requests to servers without a choice among several tools have in common. Pure.

import type { ToolSpec } from "../core/message.ts";
import type { ToolChoice } from "../core/run.ts";

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

/** Whether the answer must be a tool call. */
export function isForced(choice: ToolChoice): boolean {
  return choice.type === "required" || (choice.type === "named" && choice.required);
}
