// Fields and values of this dialect that the interface refuses, or that would change the answer and that this build does
// not act on. Runs before the schema check.

import { ServiceError } from "../../core/error.ts";
import { isPresent, isRecord } from "../shared/check.ts";

interface Refusal {
  readonly field: string;
  readonly code: "unsupported_value" | "unsupported_capability";
  /** Whether a value has no effect and may pass. Null always passes. */
  readonly harmless?: (value: unknown) => boolean;
  /** What to do instead. */
  readonly fix: string;
}

const REFUSALS: readonly Refusal[] = [
  {
    field: "parallel_tool_calls",
    code: "unsupported_value",
    // What is no boolean is the schema's to explain.
    harmless: (value) => value !== false,
    fix: "must be true or omitted",
  },
  {
    field: "max_tool_calls",
    code: "unsupported_value",
    fix: "is not supported; the server's max_tool_rounds setting caps rounds",
  },
  {
    field: "conversation",
    code: "unsupported_capability",
    fix: "is not supported; send previous_response_id",
  },
  {
    field: "prompt",
    code: "unsupported_capability",
    fix: "is not supported; send the prompt's text as instructions and input",
  },
];

/** Throws a ServiceError for the first thing in a body that cannot be honoured. */
export function refuseUnsupported(body: Readonly<Record<string, unknown>>): void {
  for (const { field, code, harmless, fix } of REFUSALS) {
    const given = body[field];
    if (!isPresent(given) || harmless?.(given) === true) continue;
    throw new ServiceError(code, `${field} ${fix}`, { param: field });
  }
  refuseJsonObject(body["response_format"], "response_format");
  if (isRecord(body["text"])) refuseJsonObject(body["text"]["format"], "text.format");
}

function refuseJsonObject(format: unknown, path: string): void {
  if (!isRecord(format) || format["type"] !== "json_object") return;
  const param = `${path}.type`;
  const message = `${param} "json_object" is not accepted; send "json_schema" with the schema of the answer`;
  throw new ServiceError("unsupported_value", message, { param });
}
