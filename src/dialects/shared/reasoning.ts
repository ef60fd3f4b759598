// The rules of `reasoning_effort` and `enable_thinking`. Spec: chat completions, Reasoning rules.

import { ServiceError } from "../../core/error.ts";
import type { ReasoningEffort, Thinking } from "../../core/run.ts";
import { isPresent, shown } from "./check.ts";

const EFFORTS: readonly ReasoningEffort[] = ["low", "medium", "high", "xhigh"];

export interface ReasoningFields {
  readonly reasoning_effort?: string | null;
  readonly enable_thinking?: boolean | null;
}

/**
 * Thinking is on unless it is switched off; a stated effort switches it on. `param` is where the effort stands in the
 * body. Throws `unsupported_value` for an unknown effort and `contradictory_fields` when the two fields disagree.
 */
export function thinkingOf(fields: ReasoningFields, param = "reasoning_effort"): Thinking {
  const toggle = fields.enable_thinking ?? undefined;
  const effort = effortOf(fields.reasoning_effort, param);
  if (effort === undefined) return { enabled: toggle ?? true };
  const enabled = effort !== "off";
  if (toggle !== undefined && toggle !== enabled) {
    throw new ServiceError(
      "contradictory_fields",
      `${param} ${shown(effort)} contradicts enable_thinking ${toggle}; send only one of them`,
      { param },
    );
  }
  return effort === "off" ? { enabled } : { enabled, effort };
}

/** What an effort's name means, `off` included; `param` is where it stands in the body. Throws `unsupported_value`. */
export function effortOf(
  text: string | null | undefined,
  param = "reasoning_effort",
): ReasoningEffort | "off" | undefined {
  if (!isPresent(text)) return undefined;
  const word = text.trim().toLowerCase();
  if (word === "off" || word === "none") return "off";
  const effort = EFFORTS.find((known) => known === word);
  if (effort !== undefined) return effort;
  throw new ServiceError(
    "unsupported_value",
    `${param} must be one of "off", "none", "low", "medium", "high", "xhigh"; got ${shown(text)}`,
    { param },
  );
}
