// Parts of chunks that servers send in different forms. Each reader takes every known form and leaves out what fits none: an
// addition such as a count must not cost the answer. Pure.

import { isObject } from "../core/json.ts";
import type { FinishReason } from "../core/run.ts";
import type { WireDelta } from "./wire.ts";

/** Token counts of an answer, as far as the upstream states them. */
export interface Counts {
  readonly promptTokens?: number;
  readonly cachedTokens?: number;
  readonly completionTokens?: number;
  readonly reasoningTokens?: number;
  /** Answers whose reasoning a svc has ended. */
  readonly closedThoughts?: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** The fields of an object; none of anything else. */
export function fieldsIn(value: unknown): Fields {
  return isObject(value) ? { ...value } : {};
}

/** A usage object in the form of completions or of the Responses and Messages APIs; undefined where it counts nothing. */
export function countsOf(usage: unknown): Counts | undefined {
  if (usage === undefined) return undefined; // most chunks
  const fields = fieldsIn(usage);
  const prompts = fieldsIn(fields["prompt_tokens_details"] ?? fields["input_tokens_details"]);
  const completions = fieldsIn(fields["completion_tokens_details"] ?? fields["output_tokens_details"]);
  const completionTokens = count(fields["completion_tokens"] ?? fields["output_tokens"]);
  const promptTokens = count(fields["prompt_tokens"] ?? fields["input_tokens"]);
  const total = count(fields["total_tokens"]);
  const counts = {
    promptTokens:
      promptTokens ?? (total === undefined ? undefined : Math.max(0, total - (completionTokens ?? 0))),
    cachedTokens: count(prompts["cached_tokens"]),
    completionTokens,
    reasoningTokens: count(completions["reasoning_tokens"]),
    closedThoughts: count(completions["closed_thoughts"]),
  };
  const stated = Object.entries(counts).filter(([, value]) => value !== undefined);
  return stated.length === 0 ? undefined : Object.fromEntries(stated);
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The names under which servers send reasoning as text. */
export const REASONING_FIELDS = ["reasoning_content", "reasoning"] as const;

/** Text and reasoning of a delta: strings, lists of parts (Mistral), and reasoning in details alone (OpenRouter). */
export function textsOf(delta: WireDelta): { readonly text: string; readonly reasoning: string } {
  const content = partsOf(delta.content);
  const own = REASONING_FIELDS.map((name) => partsOf(delta[name]).text).find((text) => text !== "");
  const details = Array.isArray(delta.reasoning_details) ? delta.reasoning_details : [];
  const told =
    own ?? details.map((detail) => stringIn(detail, "text") || stringIn(detail, "summary")).join("");
  return { text: content.text || (delta.refusal ?? ""), reasoning: content.reasoning + told };
}

/** A text, or a list of parts of which some are thoughts. */
function partsOf(value: unknown): { readonly text: string; readonly reasoning: string } {
  if (typeof value === "string") return { text: value, reasoning: "" };
  if (!Array.isArray(value)) return { text: "", reasoning: "" };
  let [text, reasoning] = ["", ""];
  for (const part of value) {
    const thought = fieldsIn(part)["thinking"] ?? fieldsIn(part)["reasoning"];
    if (thought === undefined) text += typeof part === "string" ? part : stringIn(part, "text");
    else reasoning += partsOf(thought).text;
  }
  return { text, reasoning };
}

/** A text among the fields of an object; "" where it is none. */
export function stringIn(value: unknown, name: string): string {
  const field = fieldsIn(value)[name];
  return typeof field === "string" ? field : "";
}

/** Arguments of a call as JSON text; some servers send the object. */
export function argumentsOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/** Reasons of all known servers, in lower case; what is not here ends an answer like its end. */
const REASONS: ReadonlyMap<string, FinishReason | "error" | "none"> = new Map([
  ["", "none"],
  ["null", "none"],
  ["none", "none"],
  ["length", "length"],
  ["max_tokens", "length"],
  ["max_output_tokens", "length"],
  ["model_length", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_calls", "tool_calls"],
  ["tool_call", "tool_calls"],
  ["tool_use", "tool_calls"],
  ["function_call", "tool_calls"],
  ["content_filter", "content_filter"],
  ["content_filtered", "content_filter"],
  ["refusal", "content_filter"],
  ["safety", "content_filter"],
  ["sensitive", "content_filter"],
  ["recitation", "content_filter"],
  ["prohibited_content", "content_filter"],
  ["error", "error"],
  ["abort", "error"],
  ["network_error", "error"],
  ["insufficient_system_resource", "error"],
]);

/** What a finish reason means; undefined where the answer goes on. */
export function meaningOf(reason: string | null | undefined): FinishReason | "error" | undefined {
  if (reason === null || reason === undefined) return undefined;
  const meaning = REASONS.get(reason.toLowerCase()) ?? "stop";
  return meaning === "none" ? undefined : meaning;
}
