// Tools that take one text instead of arguments. The model sees a function with one string; calls are given back as they were
// declared.

import type { ToolCall } from "../../core/message.ts";

/** The argument of the function that the model sees. */
export const CUSTOM_INPUT = "input";

/** The call of a custom tool as the model sees it. */
export function customCall(call: {
  readonly call_id: string;
  readonly name: string;
  readonly input: string;
}): ToolCall {
  const { call_id: id, name, input } = call;
  return { id, name, arguments: JSON.stringify({ [CUSTOM_INPUT]: input }) };
}
