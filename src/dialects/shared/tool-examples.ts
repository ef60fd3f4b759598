// Examples of a tool's arguments, which follow its description: there every chat template shows them.

import { Type } from "@sinclair/typebox";
import type { ToolSpec } from "../../core/message.ts";
import { orNull } from "../../core/schema-fields.ts";
import { isPresent } from "./check.ts";
import { jsonObject } from "./json-object.ts";
import { TOOL_EXAMPLES_MAX } from "./limits.ts";

/** Properties to spread into the schema of a tool. */
export const exampleProperties = {
  input_examples: orNull(
    Type.Array(jsonObject("Arguments of a call."), {
      maxItems: TOOL_EXAMPLES_MAX,
      description: "Examples of arguments; the model reads them after the description.",
    }),
  ),
};

/** The description that the model reads. */
export function describedBy(
  description: string | null | undefined,
  examples: readonly object[] | null | undefined,
): Pick<ToolSpec, "description"> {
  const shown = (examples ?? []).map((example) => JSON.stringify(example));
  const parts = [
    ...(isPresent(description) ? [description] : []),
    ...(shown.length === 0 ? [] : [["Examples of arguments:", ...shown].join("\n")]),
  ];
  return parts.length === 0 ? {} : { description: parts.join("\n\n") };
}
