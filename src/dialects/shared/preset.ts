// Fills fields that a body leaves out with the defaults of its model or alias. Each dialect has its own names for them.

import { isObject } from "../../core/json.ts";
import type { Preset } from "../../core/preset.ts";
import { llamaNameOf, SAMPLING_NAMES } from "../../core/sampling.ts";
import { isPresent } from "./check.ts";
import { saysBudget, saysThinking } from "./thinking-fields.ts";

type Body = Readonly<Record<string, unknown>>;

/** Names of a dialect's fields. */
interface PresetForm {
  /** Field with the table of sampling fields; absent: the body itself. */
  readonly table?: string;
  /** Fields for the cap, of which the first is filled. */
  readonly maxTokens: readonly string[];
  readonly stop: string;
  /** Sampling options have the names of llama.cpp's server. */
  readonly isLlamaNamed?: true;
  /** Field for thinking, where nothing of the body says anything about it. */
  readonly thinking?: string;
  /** Whether there is a budget of reasoning. */
  readonly takesBudget?: true;
  /** Whether conversations are compacted. */
  readonly compacts?: true;
  /** Adds instructions to a body; absent: the dialect has none. */
  readonly withSystem?: (body: Body, system: string) => Body;
}

/** The body with the preset's values in the fields that it leaves out. */
function withPreset(body: Body, preset: Preset, form: PresetForm): Body {
  const table = form.table === undefined ? body : tableOf(body[form.table]);
  if (table === undefined) return body; // its parser says what is wrong
  const filled: Record<string, unknown> = { ...table };
  const fill = (fields: readonly string[], value: unknown): void => {
    const [first] = fields;
    if (value !== undefined && first !== undefined && !fields.some((field) => isPresent(filled[field])))
      filled[first] = value;
  };
  for (const name of SAMPLING_NAMES)
    fill([form.isLlamaNamed === true ? llamaNameOf(name) : name], preset[name]);
  fill(form.maxTokens, preset.max_tokens);
  fill([form.stop], preset.stop);
  const sampled = form.table === undefined ? filled : { ...body, [form.table]: filled };
  return withTexts(sampled, preset, form);
}

function withTexts(
  body: Body,
  { thinking, thinking_budget: budget, compact_at: share, summary_model: writer, system }: Preset,
  { thinking: field, takesBudget, compacts, withSystem }: PresetForm,
): Body {
  const isSaid = thinking === undefined || field === undefined || saysThinking(body);
  const isEdited = isPresent(body["compact_at"]) || compactsItself(body["context_management"]);
  const isWritten = writer === undefined || compacts !== true || isPresent(body["summary_model"]);
  const talk = {
    ...body,
    ...(share === undefined || compacts !== true || isEdited ? {} : { compact_at: share }),
    ...(isWritten ? {} : { summary_model: writer }),
  };
  const limited =
    budget === undefined || takesBudget !== true || saysBudget(body)
      ? talk
      : { ...talk, thinking_budget: budget };
  const thought = isSaid ? limited : { ...limited, [field]: thinking };
  return system === undefined || withSystem === undefined ? thought : withSystem(thought, system);
}

/** Whether the edits of a body are compactions among others: agents send edits of reasoning with each request. */
function compactsItself(management: unknown): boolean {
  const edits = isObject(management) ? management["edits"] : management;
  const isCompaction = (edit: unknown): boolean =>
    isObject(edit) && String(edit["type"]).startsWith("compact");
  return Array.isArray(edits) && edits.some(isCompaction);
}

/** A table of fields; undefined where the field is none. */
function tableOf(field: unknown): Body | undefined {
  if (!isPresent(field)) return {};
  return typeof field === "object" && !Array.isArray(field) ? { ...field } : undefined;
}

/** Instructions as the first message, unless there are some, or no conversation. */
function systemMessage(body: Body, system: string): Body {
  const sent = body["messages"];
  const messages: unknown = typeof sent === "string" ? [{ role: "user", content: sent }] : sent;
  if (!Array.isArray(messages) || messages.length === 0 || messages.some(isInstruction)) return body;
  return { ...body, messages: [{ role: "system", content: system }, ...(messages as readonly unknown[])] };
}

function isInstruction(message: unknown): boolean {
  if (typeof message !== "object" || message === null || !("role" in message)) return false;
  return message.role === "system" || message.role === "developer";
}

/** Instructions in a field of their own. */
function systemField(field: string): NonNullable<PresetForm["withSystem"]> {
  return (body, system) => (isPresent(body[field]) ? body : { ...body, [field]: system });
}

/** Thinking of a Responses body is an effort. */
function withEffort(body: Body, { thinking }: Preset): Body {
  const reasoning = tableOf(body["reasoning"]);
  const rest = { ...body, reasoning: null, enable_thinking: null, reasoning_effort: null };
  const isSaid =
    saysThinking(rest) || ["effort", "enabled", "max_tokens"].some((field) => isPresent(reasoning?.[field]));
  if (thinking === undefined || reasoning === undefined || isSaid) return body;
  return { ...body, reasoning: { ...reasoning, effort: thinking ? "medium" : "off" } };
}

export function withChatPreset(body: Body, preset: Preset): Body {
  return withPreset(body, preset, {
    maxTokens: ["max_tokens", "max_completion_tokens"],
    stop: "stop",
    thinking: "enable_thinking",
    takesBudget: true,
    compacts: true,
    withSystem: systemMessage,
  });
}

export function withCompletionPreset(body: Body, preset: Preset): Body {
  return withPreset(body, preset, { maxTokens: ["max_tokens"], stop: "stop" });
}

export function withMessagesPreset(body: Body, preset: Preset): Body {
  return withPreset(body, preset, {
    maxTokens: ["max_tokens"],
    stop: "stop_sequences",
    thinking: "enable_thinking",
    takesBudget: true,
    compacts: true,
    withSystem: systemField("system"),
  });
}

export function withResponsesPreset(body: Body, preset: Preset): Body {
  const form = {
    maxTokens: ["max_output_tokens", "max_tokens", "max_completion_tokens"],
    stop: "stop",
    takesBudget: true,
    compacts: true,
    withSystem: systemField("instructions"),
  } as const;
  return withEffort(withPreset(body, preset, form), preset);
}

export function withOllamaPreset(body: Body, preset: Preset): Body {
  const isRaw = body["raw"] === true || (isPresent(body["suffix"]) && body["suffix"] !== "");
  const isGenerate = "prompt" in body;
  return withPreset(body, preset, {
    table: "options",
    maxTokens: ["num_predict"],
    stop: "stop",
    isLlamaNamed: true,
    thinking: "think",
    takesBudget: true,
    ...(isGenerate ? {} : { compacts: true }),
    ...(isRaw ? {} : { withSystem: isGenerate ? systemField("system") : systemMessage }),
  });
}
