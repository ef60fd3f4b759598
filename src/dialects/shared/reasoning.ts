// Rules of `reasoning_effort` and `enable_thinking`. Spec: chat completions, Reasoning rules.

import type { Compat } from "../../core/compat.ts";
import { ServiceError } from "../../core/error.ts";
import type { ReasoningEffort, Thinking } from "../../core/run.ts";
import { isPresent, describeValue } from "./check.ts";
import { serveOrRefuse } from "./compat.ts";

const EFFORTS: readonly ReasoningEffort[] = ["low", "medium", "high", "xhigh"];

/** Efforts of other vendors, mapped to the closest supported one. */
const CLOSEST_EFFORT: ReadonlyMap<string, ReasoningEffort> = new Map([
  ["minimal", "low"],
  ["max", "xhigh"],
]);

/** Path of the effort field in the body, and the compatibility mode of the request. */
export interface EffortField {
  readonly param: string;
  readonly compat: Compat;
}

export interface ReasoningFields {
  readonly reasoning_effort?: string | null;
  readonly enable_thinking?: boolean | null;
}

/**
 * Thinking is on by default, and an explicit effort turns it on. Throws `unsupported_value` for an unknown effort and
 * `contradictory_fields` if the two fields disagree.
 */
export function thinkingOf(fields: ReasoningFields, field: EffortField): Thinking {
  const { param } = field;
  const toggle = fields.enable_thinking ?? undefined;
  const effort = effortOf(fields.reasoning_effort, field);
  if (effort === undefined)
    return toggle === undefined ? { enabled: true, unsaid: true } : { enabled: toggle };
  const enabled = effort !== "off";
  if (toggle !== undefined && toggle !== enabled) {
    throw new ServiceError(
      "contradictory_fields",
      `${param} ${describeValue(effort)} contradicts enable_thinking ${toggle}; send only one of them`,
      { param },
    );
  }
  return effort === "off" ? { enabled } : { enabled, effort };
}

/** Parses the name of an effort, `off` included. Throws `unsupported_value`. */
export function effortOf(
  text: string | null | undefined,
  { param, compat }: EffortField,
): ReasoningEffort | "off" | undefined {
  if (!isPresent(text)) return undefined;
  const word = text.trim().toLowerCase();
  if (word === "off" || word === "none") return "off";
  const effort = EFFORTS.find((known) => known === word);
  if (effort !== undefined) return effort;
  const message = `${param} must be one of "off", "none", "low", "medium", "high", "xhigh"; got ${describeValue(text)}`;
  const refusal = new ServiceError("unsupported_value", message, { param });
  const closest = CLOSEST_EFFORT.get(word);
  if (closest === undefined) throw refusal;
  serveOrRefuse(compat, "reasoning_effort", refusal);
  return closest;
}
