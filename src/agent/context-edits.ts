// Changes of a conversation before the model sees it, without a model: old results of tools and old reasoning are left out. Calls and
// results stay in pairs.

import type { ContextEdits } from "../core/agent.ts";
import { isInstruction } from "../core/applied-edit.ts";
import type { Message } from "../core/message.ts";

const CLEARED = "[Result removed to save context. Call the tool again if you need it.]";

/** A conversation from its last summary on: that stands for what was before. Instructions stay. */
export function sinceSummary(messages: readonly Message[]): readonly Message[] {
  const at = messages.findLastIndex(({ replacesEarlier }) => replacesEarlier === true);
  if (at < 0) return messages;
  return [...messages.slice(0, at).filter(isInstruction), ...messages.slice(at)];
}

/** Calls of tools, in order: their ids. */
export function toolUses(messages: readonly Message[]): readonly string[] {
  return messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id));
}

/** Without the results of all calls but the last, and without their arguments where wanted. Returns how many were cleared, too. */
export function withoutToolUses(
  messages: readonly Message[],
  { keep, exclude, inputs }: NonNullable<ContextEdits["clearToolUses"]>,
): { readonly messages: readonly Message[]; readonly cleared: number } {
  const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls);
  const old = calls.slice(0, Math.max(0, calls.length - keep)).filter(({ name }) => !exclude.includes(name));
  const ids = new Set(old.map(({ id }) => id));
  let cleared = 0;
  const edited = messages.map((message) => {
    const { role, toolCallId = "", toolCalls } = message;
    if (role === "tool" && ids.has(toolCallId)) {
      const isCleared =
        message.content.length === 1 &&
        message.content[0]?.type === "text" &&
        message.content[0].text === CLEARED;
      if (!isCleared) cleared++;
      return { ...message, content: [{ type: "text" as const, text: CLEARED }] };
    }
    if (!inputs || toolCalls === undefined) return message;
    return {
      ...message,
      toolCalls: toolCalls.map((call) => (ids.has(call.id) ? { ...call, arguments: "{}" } : call)),
    };
  });
  return { messages: edited, cleared };
}

/** Without the reasoning of all turns but the last. Returns how many turns were cleared, too. */
export function withoutThinking(
  messages: readonly Message[],
  keep: number,
): { readonly messages: readonly Message[]; readonly cleared: number } {
  const thinking = messages.flatMap(({ reasoning }, at) => (reasoning === undefined ? [] : [at]));
  const old = new Set(thinking.slice(0, Math.max(0, thinking.length - keep)));
  const edited = messages.map((message, at) => {
    if (!old.has(at)) return message;
    const { reasoning: _, ...rest } = message;
    return rest;
  });
  return { messages: edited, cleared: old.size };
}
