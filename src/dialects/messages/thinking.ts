// Thinking on or off, and its effort, from the fields of all dialects and `output_config`.

import { type Static, Type } from "@sinclair/typebox";
import type { Compat } from "../../core/compat.ts";
import type { Thinking } from "../../core/run.ts";
import { OPEN, orNull } from "../../core/schema-fields.ts";
import { FlatResponseFormat } from "../shared/constraint.ts";
import { effortOf } from "../shared/reasoning.ts";
import {
  agreedThinking,
  reasoningFieldProperties,
  sayingsOf,
  thinkingProperties,
} from "../shared/thinking-fields.ts";

const OutputConfig = Type.Object(
  {
    effort: orNull(
      Type.String({
        description: "Reasoning effort: `low`, `medium`, `high`, `xhigh`; `max` means `xhigh`.",
      }),
    ),
    format: orNull(FlatResponseFormat),
  },
  { $id: "MessagesOutputConfig", description: "Reasoning effort and format of the answer.", ...OPEN },
);

/** Properties of the request schema. */
export const messagesThinkingProperties = {
  ...thinkingProperties,
  ...reasoningFieldProperties,
  output_config: orNull(OutputConfig),
  output_format: orNull(FlatResponseFormat),
  reasoning_effort: orNull(
    Type.String({ description: "`off` (or `none`), `low`, `medium`, `high`, `xhigh`." }),
  ),
  enable_thinking: orNull(Type.Boolean({ description: "Older field for reasoning on or off. Default on." })),
};

const Fields = Type.Object(messagesThinkingProperties);

/**
 * What all fields mean together. An effort in `output_config` applies to the whole answer, so it does not contradict disabled
 * thinking. Throws `contradictory_fields` if two fields disagree, `unsupported_value` for an unknown effort.
 */
export function thinkingOf(body: Static<typeof Fields>, compat: Compat): Thinking {
  const text = body.output_config?.effort;
  const param = "output_config.effort";
  // Anthropic's scale has one more level.
  const effort = effortOf(text?.trim().toLowerCase() === "max" ? "xhigh" : text, { param, compat });
  const output = effort === "off" ? { enabled: false } : { effort };
  const said = effort === undefined ? [] : [{ param, value: text, ...output }];
  return agreedThinking([...sayingsOf(body, compat), ...said]);
}
