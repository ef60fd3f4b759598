// Names of reasoning efforts. Spec: chat completions, Reasoning rules.

import type { Compat } from "../../core/compat.ts";
import { ServiceError } from "../../core/error.ts";
import type { ReasoningEffort } from "../../core/run.ts";
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

/** A known effort, or off. */
export type Effort = ReasoningEffort | "off" | undefined;

/** Parses the name of an effort, `off` included. Throws `unsupported_value`. */
export function effortOf(text: string | null | undefined, { param, compat }: EffortField): Effort {
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
