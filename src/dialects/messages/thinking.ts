// Whether and how much the model thinks before it answers. Four fields have a say; those that speak must agree.

import { type Static, Type } from "@sinclair/typebox";
import type { Compat } from "../../core/compat.ts";
import { ServiceError } from "../../core/error.ts";
import type { Thinking } from "../../core/run.ts";
import { isPresent, orNull, describeValue } from "../shared/check.ts";
import { jsonObject } from "../shared/json-object.ts";
import { effortOf } from "../shared/reasoning.ts";

const OPEN = { additionalProperties: true } as const;

const ThinkingField = Type.Object(
  {
    type: Type.Union([Type.Literal("enabled"), Type.Literal("adaptive"), Type.Literal("disabled")]),
    budget_tokens: orNull(
      Type.Integer({ minimum: 0, description: "Without effect: `max_tokens` is the one cap." }),
    ),
    display: orNull(
      Type.Union([Type.Literal("summarized"), Type.Literal("omitted")], {
        description: "`omitted` leaves the text of thinking blocks empty.",
      }),
    ),
  },
  { $id: "MessagesThinking", description: "Whether the model thinks first. On by default.", ...OPEN },
);

const OutputFormat = Type.Object(
  {
    type: Type.Literal("json_schema"),
    schema: jsonObject("The JSON Schema that the answer must satisfy."),
  },
  { $id: "MessagesOutputFormat", ...OPEN },
);

const OutputConfig = Type.Object(
  {
    effort: orNull(
      Type.String({
        description: "How much to think: `low`, `medium`, `high`, `xhigh`; `max` means `xhigh`.",
      }),
    ),
    format: orNull(OutputFormat),
  },
  { $id: "MessagesOutputConfig", description: "How much to think, and the form of the answer.", ...OPEN },
);

/** Properties of the request schema. */
export const thinkingProperties = {
  thinking: orNull(ThinkingField),
  output_config: orNull(OutputConfig),
  reasoning_effort: orNull(
    Type.String({ description: "`off` (or `none`), `low`, `medium`, `high`, `xhigh`." }),
  ),
  enable_thinking: orNull(Type.Boolean({ description: "Older switch for reasoning; on by default." })),
};

const ThinkingFields = Type.Object(thinkingProperties);
type ThinkingFields = Static<typeof ThinkingFields>;

/** A field that switches thinking on or off, in words for an error. */
interface Switch {
  readonly param: string;
  readonly value: unknown;
  readonly enabled: boolean;
}

/**
 * What the fields say together. An effort in `output_config` is about the whole answer, so it may stand beside thinking
 * that is off. Throws `contradictory_fields` where two disagree, `unsupported_value` for an unknown effort.
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
  readonly wanted: Effort;
}

function effortsOf({ reasoning_effort, output_config }: ThinkingFields, compat: Compat): Efforts {
  const text = output_config?.effort;
  // The vendor's scale goes one step further than ours.
  const wanted = text?.trim().toLowerCase() === "max" ? "xhigh" : text;
  return {
    effort: effortOf(reasoning_effort, { param: "reasoning_effort", compat }),
    wanted: effortOf(wanted, { param: "output_config.effort", compat }),
  };
}

function switchesOf(
  { thinking, reasoning_effort, enable_thinking, output_config }: ThinkingFields,
  { effort, wanted }: Efforts,
): Switch[] {
  const type = thinking?.type;
  const off = wanted === "off";
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
  { effort, wanted }: Efforts,
): Effort {
  if (effort === undefined || wanted === undefined || effort === wanted) return effort ?? wanted;
  const message = `output_config.effort ${describeValue(output_config?.effort)} contradicts reasoning_effort ${describeValue(reasoning_effort)}; send only one of them`;
  throw new ServiceError("contradictory_fields", message, { param: "output_config.effort" });
}
