// Refuses request fields that would change the answer but are not implemented. They are never ignored silently; values
// without effect (0, [], null, …) pass. To implement a field, remove its row here and add it to schema.ts.

import type { Compat } from "../../core/compat.ts";
import { ServiceError } from "../../core/error.ts";
import { isObject } from "../../core/json.ts";
import { describeValue } from "../shared/check.ts";
import { serveOrRefuse } from "../shared/compat.ts";
import { refuseJsonObject } from "../shared/constraint.ts";
import { replacedTools } from "../shared/tools.ts";

interface Refusal {
  readonly field: string;
  /** Whether a value has no effect and is accepted. Null always is. */
  readonly harmless: (value: unknown) => boolean;
  /** Supported alternative, for the message. */
  readonly fix: string;
}

const equals = (neutral: unknown) => (value: unknown) => value === neutral;
const emptyArray = (value: unknown) => Array.isArray(value) && value.length === 0;
const onlyText = (value: unknown) => Array.isArray(value) && value.every(equals("text"));

const REFUSALS: readonly Refusal[] = [
  { field: "enable_code_execution", harmless: equals(false), fix: 'send a tool of type "code_interpreter"' },
  { field: "functions", harmless: emptyArray, fix: "send tools" },
  { field: "modalities", harmless: onlyText, fix: 'send ["text"] or omit it' },
];

/** Throws a ServiceError for the first unsupported field of a body. Runs before the schema check. */
export function refuseUnsupported(body: Readonly<Record<string, unknown>>, compat: Compat): void {
  for (const { field, harmless, fix } of REFUSALS) {
    const given = body[field];
    if (given === undefined || given === null || harmless(given)) continue;
    const message = `${field} is not supported with the value ${describeValue(given)}; ${fix}`;
    throw new ServiceError("unsupported_capability", message, { param: field });
  }
  refuseJsonObject(body["response_format"], "response_format", compat);
  if (Array.isArray(body["messages"])) body["messages"].forEach(refuseMessage);
}

function refuseMessage(message: unknown, index: number): void {
  if (!isObject(message)) return;
  if (message["function_call"] !== undefined && message["function_call"] !== null) {
    const param = `messages[${index}].function_call`;
    throw new ServiceError("unsupported_value", `${param} is not supported; send tool_calls`, { param });
  }
}

const TOOL_TYPES: ReadonlySet<unknown> = new Set(["function", "custom", "code_interpreter"]);

/** Stands for a tool that is left out. */
export const LEFT_OUT = { type: "function", function: { name: "left_out" } } as const;

/** The tools with LEFT_OUT for hosted ones of other servers. Strict mode refuses these. */
export function withoutForeignTools(tools: unknown, compat: Compat): unknown {
  return replacedTools(tools, LEFT_OUT, (tool, path) => {
    const { type } = tool;
    if (typeof type !== "string" || TOOL_TYPES.has(type)) return false;
    const param = `${path}.type`;
    const message = `${param} must be "function", "custom" or "code_interpreter"; got ${describeValue(type)}`;
    serveOrRefuse(compat, "hosted_tool", new ServiceError("unsupported_value", message, { param }));
    return true;
  });
}
