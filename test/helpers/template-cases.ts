// Conversations that every chat template is tried with.

import type { Message, ToolCall, ToolSpec } from "../../src/core/message.ts";
import type { Asked } from "./template-bench.ts";

export const WEATHER: ToolSpec = {
  name: "get_weather",
  description: "Tells the weather of a city",
  parameters: {
    type: "object",
    properties: {
      city: { type: "string", description: "Name of the city" },
      days: { type: "integer", enum: [1, 3, 7] },
    },
    required: ["city"],
  },
  strict: false,
};

export function says(role: Message["role"], text: string, more: Partial<Message> = {}): Message {
  return { role, content: [{ type: "text", text }], ...more };
}

export function call(id: string, city: string): ToolCall {
  return { id, name: "get_weather", arguments: JSON.stringify({ city, days: 3 }) };
}

export function result(id: string, text: string): Message {
  return says("tool", text, { toolCallId: id, name: "get_weather" });
}

const USER = says("user", "How is it outside?");
const ANSWER = says("assistant", "Grey skies.");
const NEXT = says("user", "And tomorrow?");
const ORDER = says("system", "Be terse.");
const ONE_CALL = says("assistant", "", { toolCalls: [call("call00001", "Ravenna")] });
const TWO_CALLS = says("assistant", "", {
  toolCalls: [call("call00001", "Ravenna"), call("call00002", "Coimbra")],
});
const ANNOUNCED = says("assistant", "Let me look it up.", { toolCalls: [call("call00001", "Ravenna")] });
const RESULT = result("call00001", '{"sky": "overcast"}');
const OTHER_RESULT = result("call00002", "sunshine");

/** A conversation, and words of it that the prompt must have. */
export interface TemplateCase extends Asked {
  readonly name: string;
  readonly words: readonly string[];
}

export const SIMPLE: TemplateCase = { name: "plain", messages: [USER], words: ["How is it outside?"] };

/** Conversations that templates are made for. */
export const PLAIN_CASES: readonly TemplateCase[] = [
  SIMPLE,
  { name: "talk", messages: [USER, ANSWER, NEXT], words: ["outside?", "Grey skies.", "And tomorrow?"] },
  { name: "system", messages: [ORDER, USER], words: ["Be terse.", "outside?"] },
  { name: "thinking off", messages: [USER], thinking: { enabled: false }, words: ["outside?"] },
  { name: "tools", messages: [USER], tools: [WEATHER], words: ["outside?"] },
  {
    name: "tool result",
    messages: [ORDER, USER, ONE_CALL, RESULT],
    tools: [WEATHER],
    words: ["Be terse.", "outside?", "Ravenna", "overcast"],
  },
  {
    name: "after a tool result",
    messages: [USER, ONE_CALL, RESULT, ANSWER, NEXT],
    tools: [WEATHER],
    words: ["outside?", "Ravenna", "overcast", "Grey skies.", "And tomorrow?"],
  },
  {
    name: "parallel results",
    messages: [USER, TWO_CALLS, RESULT, OTHER_RESULT],
    tools: [WEATHER],
    words: ["outside?", "Ravenna", "overcast", "Coimbra", "sunshine"],
  },
  {
    name: "reasoning history",
    messages: [USER, { ...ANSWER, reasoning: "Pondering." }, NEXT],
    words: ["outside?", "Grey skies.", "And tomorrow?"],
  },
];

/** Conversations that some templates refuse. */
export const HARD_CASES: readonly TemplateCase[] = [
  {
    name: "calls without tools",
    messages: [USER, ONE_CALL, RESULT, ANSWER, NEXT],
    words: ["Ravenna", "overcast"],
  },
  {
    name: "parallel results without tools",
    messages: [USER, TWO_CALLS, RESULT, OTHER_RESULT],
    words: ["Coimbra", "sunshine"],
  },
  {
    name: "results in another order",
    messages: [USER, TWO_CALLS, OTHER_RESULT, RESULT, ANSWER, NEXT],
    tools: [WEATHER],
    words: ["Ravenna", "overcast", "Coimbra", "sunshine"],
  },
  {
    name: "reasoning and a call",
    messages: [USER, { ...ONE_CALL, reasoning: "Pondering." }, RESULT],
    tools: [WEATHER],
    words: ["Ravenna", "overcast"],
  },
  {
    name: "text beside a call",
    messages: [USER, ANNOUNCED, RESULT],
    tools: [WEATHER],
    words: ["outside?", "Let me look it up.", "Ravenna", "overcast"],
  },
  {
    name: "text beside a call of an earlier turn",
    messages: [ORDER, USER, ANNOUNCED, RESULT, ANSWER, NEXT],
    tools: [WEATHER],
    words: ["Be terse.", "Let me look it up.", "Ravenna", "overcast", "Grey skies.", "And tomorrow?"],
  },
  { name: "two questions in a row", messages: [USER, NEXT], words: ["outside?", "And tomorrow?"] },
  {
    name: "two answers in a row",
    messages: [USER, ANSWER, says("assistant", "It rains."), NEXT],
    words: ["Grey skies.", "It rains.", "And tomorrow?"],
  },
  {
    name: "two system messages",
    messages: [ORDER, says("system", "Be kind."), USER],
    words: ["terse", "kind", "outside?"],
  },
  {
    name: "a system message later",
    messages: [USER, ANSWER, ORDER, NEXT],
    words: ["Be terse.", "And tomorrow?"],
  },
  {
    name: "a system message later, besides the first",
    messages: [says("system", "Be kind."), USER, ANSWER, ORDER, NEXT],
    words: ["Be kind.", "Be terse.", "And tomorrow?"],
  },
  { name: "a system message alone", messages: [ORDER], words: ["Be terse."] },
  { name: "the assistant begins", messages: [ANSWER, NEXT], words: ["Grey skies.", "And tomorrow?"] },
  {
    name: "a question after a tool result",
    messages: [USER, ONE_CALL, RESULT, NEXT],
    tools: [WEATHER],
    words: ["Ravenna", "overcast", "And tomorrow?"],
  },
];
