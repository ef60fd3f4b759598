// Refuses fields and values that the API forbids, or that would change the answer but are not implemented. Runs before the
// schema check.

import type { Compat, CompatKind } from "../../core/compat.ts";
import { ServiceError } from "../../core/error.ts";
import { isObject } from "../../core/json.ts";
import { isPresent } from "../shared/check.ts";
import { serveOrRefuse } from "../shared/compat.ts";
import { refuseJsonObject } from "../shared/constraint.ts";

interface Refusal {
  readonly field: string;
  readonly code: "unsupported_value" | "unsupported_capability";
  /** Whether a value has no effect and is accepted. Null always is. */
  readonly harmless?: (value: unknown) => boolean;
  /** Supported alternative, for the message. */
  readonly fix: string;
  /** Accepted under `--compat clients` and counted under this kind. */
  readonly served?: CompatKind;
}

const REFUSALS: readonly Refusal[] = [
  {
    field: "parallel_tool_calls",
    code: "unsupported_value",
    // The schema check reports values that are not booleans.
    harmless: (value) => value !== false,
    fix: "must be true or omitted",
    served: "parallel_tool_calls",
  },
  {
    field: "max_tool_calls",
    code: "unsupported_value",
    fix: "is not supported; the server's --max-tool-rounds caps rounds",
    served: "max_tool_calls",
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

/** Throws a ServiceError for the first unsupported field of a body. */
export function refuseUnsupported(body: Readonly<Record<string, unknown>>, compat: Compat): void {
  for (const { field, code, harmless, fix, served } of REFUSALS) {
    const given = body[field];
    if (!isPresent(given) || harmless?.(given) === true) continue;
    const refusal = new ServiceError(code, `${field} ${fix}`, { param: field });
    if (served === undefined) throw refusal;
    serveOrRefuse(compat, served, refusal);
  }
  refuseJsonObject(body["response_format"], "response_format", compat);
  if (isObject(body["text"])) refuseJsonObject(body["text"]["format"], "text.format", compat);
}
