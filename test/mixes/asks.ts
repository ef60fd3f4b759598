// Random requests of every kind that drafts meet: grammars, calls, budgets, samplers, stop strings. Each number of a stream of chance
// gives one request, so that a failing one can be made again.

import type { AdapterId } from "../../src/core/adapter.ts";
import type { Constraint } from "../../src/core/constraint.ts";
import type { Message, ToolSpec } from "../../src/core/message.ts";
import type { ChatPrompt, Prompt, RunRequest, ToolChoice } from "../../src/core/run.ts";
import { DEFAULT_DRY, DEFAULT_SAMPLING, type SamplingParams } from "../../src/core/sampling.ts";
import type { Below } from "../helpers/mixes.ts";
import { SCHEMAS } from "../helpers/schemas.ts";

/** A request and the adapter that answers it: 0 for none, else its place in the world's list, from 1. */
export interface MixAsk {
  readonly request: RunRequest;
  readonly adapter: AdapterId;
}

/** What requests of a world may have. */
export interface AskLimits {
  readonly adapters: number;
  readonly answerMax: number;
}

const MEMBERS = {
  identification_number: { type: "integer", minimum: 0, maximum: 99 },
  delivery_address_line: { type: "string", maxLength: 12 },
  preferred_language: { enum: ["english", "german", "hungarian"] },
  is_subscribed: { type: "boolean" },
};
/** Names of several tokens. */
export const RECORD = {
  type: "object",
  properties: MEMBERS,
  required: Object.keys(MEMBERS),
  additionalProperties: false,
};
const JSON_SCHEMAS: readonly unknown[] = [
  RECORD,
  { type: "array", items: RECORD, minItems: 2, maxItems: 3 },
  ...Object.values(SCHEMAS),
];
const PATTERNS = [
  "(yes|no), (definitely|perhaps)",
  "[a-z]{3,9}( [a-z]{3,9}){2,6}\\.",
  "\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z",
  "(The answer is [0-9]+\\. ){3}",
  "[\\s\\S]{20,60}",
  "(ab|ba|é|🦊){4,20}",
];
const LARKS = [
  'start: "<list>" item{2,5} "</list>"\nitem: "<item>" /[a-z]{1,8}/ "</item>"',
  'start: expr\nexpr: term (("+" | "-") term)*\nterm: /[0-9]{1,3}/ | "(" expr ")"',
  'start: greeting ", " name "!" /(\\n.*)?/\ngreeting: "Good morning" | "Good evening" | "Goodbye"\nname: /[A-Z][a-z]+/',
];
const TOOLS: readonly ToolSpec[] = [
  { name: "get_weather", description: "Weather of a place", parameters: RECORD, strict: true },
  {
    name: "get_weather_forecast",
    parameters: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } } },
    strict: false,
  },
  { name: "stop", parameters: { type: "object", properties: {}, additionalProperties: false }, strict: true },
];
const SENTENCES = [
  "What is the capital of France?",
  "Who are you?",
  "What sound does a cat make?",
  "Write the list of all days: Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday.",
  'Copy this: {"identification_number": 17, "delivery_address_line": "Main Street 4"}',
  "What is 3 + 4?",
  "Once upon a time there was a little girl who lived in a house near the forest.",
];
const STOPS = ["e", " the", '"', "\n", "Paris", "}", "</item>", ". "];

type Draw = <T>(list: readonly T[]) => T;

function drawer(below: Below): Draw {
  return (list) => {
    const one = list[below(list.length)];
    if (one === undefined) throw new Error("a list has something to draw");
    return one;
  };
}

/** One in `n`. */
type Chance = (n: number) => boolean;

export function randomAsk(below: Below, { adapters, answerMax }: AskLimits): MixAsk {
  const draw = drawer(below);
  const oneIn: Chance = (n) => below(n) === 0;
  const isChat = !oneIn(5);
  const prompt = isChat ? chatOf(below) : textOf(below);
  const echo = prompt.type !== "chat" && oneIn(4) ? { echo: true } : {};
  const constraint = mayConstrain(prompt) && !oneIn(3) ? { constraint: constraintOf(below) } : {};
  const request: RunRequest = {
    model: "default",
    prompt,
    sampling: samplingOf(below),
    stop: oneIn(4) ? [draw(STOPS), ...(oneIn(2) ? [draw(STOPS)] : [])] : [],
    maxTokens: 1 + below(oneIn(4) ? 8 : answerMax),
    choices: oneIn(6) ? 2 : 1,
    truncate: false,
    fingerprint: true,
    ...(oneIn(2) ? { logprobs: { top: below(3) } } : {}),
    ...(oneIn(5) ? { ignoreEnd: true } : {}),
    ...echo,
    ...constraint,
  };
  return { request, adapter: oneIn(3) ? below(adapters + 1) : 0 };
}

function textOf(below: Below): Prompt {
  const draw = drawer(below);
  if (below(3) > 0)
    return { type: "text", text: `${draw(SENTENCES)} ${draw(SENTENCES)} `.repeat(1 + below(2)) };
  const words = Array.from({ length: 2 + below(20) }, () => 3 + below(2000));
  return { type: "tokens", tokens: [...words, ...(below(2) === 0 ? words : [])] };
}

function chatOf(below: Below): ChatPrompt {
  const draw = drawer(below);
  const said = (role: Message["role"], text: string): Message => ({
    role,
    content: [{ type: "text", text }],
  });
  const earlier = below(3) === 0 ? [said("user", draw(SENTENCES)), said("assistant", draw(SENTENCES))] : [];
  const isCalling = below(3) === 0;
  const thinking =
    below(3) === 0
      ? { enabled: true, ...(below(2) === 0 ? { budget: 1 + below(20) } : {}) }
      : { enabled: false };
  return {
    type: "chat",
    messages: [...earlier, said("user", draw(SENTENCES))],
    tools: isCalling ? TOOLS.slice(below(TOOLS.length)) : [],
    toolChoice: isCalling ? choiceOf(below) : { type: "none" },
    thinking,
    ...(isCalling && below(4) === 0 ? { singleCall: true } : {}),
    ...(!isCalling && !thinking.enabled && below(6) === 0 ? { answerPrefix: "The capital of" } : {}),
  };
}

function choiceOf(below: Below): ToolChoice {
  const named = { type: "named", names: ["stop"], required: true } as const; // in every list
  return drawer(below)<ToolChoice>([{ type: "auto" }, { type: "required" }, named, { ...named, once: true }]);
}

/** Calls that must come, and beginnings of answers, exclude other grammars. */
function mayConstrain(prompt: Prompt): boolean {
  if (prompt.type !== "chat") return true;
  return prompt.answerPrefix === undefined && ["none", "auto"].includes(prompt.toolChoice.type);
}

function constraintOf(below: Below): Constraint {
  const draw = drawer(below);
  switch (below(5)) {
    case 0:
      return { type: "regex", pattern: draw(PATTERNS) };
    case 1:
      return { type: "lark", grammar: draw(LARKS) };
    default:
      return { type: "json_schema", schema: draw(JSON_SCHEMAS), strict: false };
  }
}

function samplingOf(below: Below): SamplingParams {
  const draw = drawer(below);
  const oneIn: Chance = (n) => below(n) === 0;
  const bias = (): { token: number; bias: number } => ({
    token: 3 + below(2000),
    bias: draw([-100, -4, 3, 9]),
  });
  return {
    ...DEFAULT_SAMPLING,
    temperature: draw([0, 0, 0.5, 1, 1.6]),
    topP: draw([1, 1, 0.9]),
    topK: draw([0, 0, 1, 40]),
    minP: draw([0, 0, 0.05]),
    presencePenalty: oneIn(4) ? draw([-1, 0.5, 2]) : 0,
    frequencyPenalty: oneIn(4) ? draw([-0.5, 0.5, 2]) : 0,
    repetitionPenalty: oneIn(4) ? draw([1.1, 1.5]) : 1,
    logitBias: oneIn(5) ? Array.from({ length: 1 + below(12) }, bias) : [],
    dry: oneIn(6) ? { ...DEFAULT_DRY, multiplier: 0.8 } : DEFAULT_DRY,
    seed: below(1000),
  };
}
