// Thinking on or off, and its effort, from four request fields. Fields that are set must agree.

import { type Static, Type } from "@sinclair/typebox";
import type { Compat } from "../../core/compat.ts";
import { ServiceError } from "../../core/error.ts";
import type { Thinking } from "../../core/run.ts";
import { isPresent, orNull, describeValue } from "../shared/check.ts";
import { FlatResponseFormat } from "../shared/constraint.ts";
import { effortOf } from "../shared/reasoning.ts";

const OPEN = { additionalProperties: true } as const;

const ThinkingField = Type.Object(
  {
    type: Type.Union([Type.Literal("enabled"), Type.Literal("adaptive"), Type.Literal("disabled")]),
    budget_tokens: orNull(
      Type.Integer({ minimum: 0, description: "Without effect; `max_tokens` caps the answer." }),
    ),
    display: orNull(
      Type.Union([Type.Literal("summarized"), Type.Literal("omitted")], {
        description: "`omitted` leaves the text of thinking blocks empty.",
      }),
    ),
  },
  { $id: "MessagesThinking", description: "Whether the model thinks first. On by default.", ...OPEN },
);

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
export const thinkingProperties = {
  thinking: orNull(ThinkingField),
  output_config: orNull(OutputConfig),
  output_format: orNull(FlatResponseFormat),
  reasoning_effort: orNull(
    Type.String({ description: "`off` (or `none`), `low`, `medium`, `high`, `xhigh`." }),
  ),
  enable_thinking: orNull(Type.Boolean({ description: "Older field for reasoning on or off. Default on." })),
};

const ThinkingFields = Type.Object(thinkingProperties);
type ThinkingFields = Static<typeof ThinkingFields>;

/** A field that turns thinking on or off, with its value for error messages. */
interface Switch {
  readonly param: string;
  readonly value: unknown;
  readonly enabled: boolean;
}

/**
 * Combines the fields. An effort in `output_config` applies to the whole answer, so it does not contradict disabled
 * thinking. Throws `contradictory_fields` if two fields disagree, `unsupported_value` for an unknown effort.
 */
export function thinkingOf(body: ThinkingFields, compat: Compat): Thinking {
  const efforts = effortsOf(body, compat);
  const effort = statedEffort(body, efforts);
  const [first, ...others] = switchesOf(body, efforts);
  const other = others.find(({ enabled }) => enabled !== first?.enabled);
  if (first !== undefined && other !== undefined) {
    const message = `${first.param} ${describeValue(first.value)} contradicts ${other.param} ${describeValue(other.value)}; send only one of them`;
    throw new ServiceError("contradictory_fields", message, { param: first.param });
  }
  if (first === undefined && effort === undefined) return { enabled: true, unsaid: true };
  const enabled = first?.enabled ?? true;
  return !enabled || effort === undefined || effort === "off" ? { enabled } : { enabled, effort };
}

type Effort = ReturnType<typeof effortOf>;

/** The efforts of `reasoning_effort` and of `output_config`. */
interface Efforts {
  readonly effort: Effort;
  readonly outputEffort: Effort;
}

function effortsOf({ reasoning_effort, output_config }: ThinkingFields, compat: Compat): Efforts {
  const text = output_config?.effort;
  // Anthropic's scale has one more level.
  const outputEffort = text?.trim().toLowerCase() === "max" ? "xhigh" : text;
  return {
    effort: effortOf(reasoning_effort, { param: "reasoning_effort", compat }),
    outputEffort: effortOf(outputEffort, { param: "output_config.effort", compat }),
  };
}

function switchesOf(
  { thinking, reasoning_effort, enable_thinking, output_config }: ThinkingFields,
  { effort, outputEffort }: Efforts,
): Switch[] {
  const type = thinking?.type;
  const off = outputEffort === "off";
  return [
    ...(type === undefined ? [] : [{ param: "thinking.type", value: type, enabled: type !== "disabled" }]),
    ...(effort === undefined
      ? []
      : [{ param: "reasoning_effort", value: reasoning_effort, enabled: effort !== "off" }]),
    ...(isPresent(enable_thinking)
      ? [{ param: "enable_thinking", value: enable_thinking, enabled: enable_thinking }]
      : []),
    ...(off ? [{ param: "output_config.effort", value: output_config?.effort, enabled: false }] : []),
  ];
}

function statedEffort(
  { reasoning_effort, output_config }: ThinkingFields,
  { effort, outputEffort }: Efforts,
): Effort {
  if (effort === undefined || outputEffort === undefined || effort === outputEffort) {
    return effort ?? outputEffort;
  }
  const message = `output_config.effort ${describeValue(output_config?.effort)} contradicts reasoning_effort ${describeValue(reasoning_effort)}; send only one of them`;
  throw new ServiceError("contradictory_fields", message, { param: "output_config.effort" });
}
