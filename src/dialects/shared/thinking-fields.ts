// Fields that say whether the model thinks first, and how much: those of the specification, and those by which clients of other
// servers say the same. Fields that are set must agree.

import { type Static, Type } from "@sinclair/typebox";
import type { Compat } from "../../core/compat.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import { isObject, type Json } from "../../core/json.ts";
import type { ChatPrompt, Thinking } from "../../core/run.ts";
import { OPEN, orNull } from "../../core/schema-fields.ts";
import { describeValue, isPresent } from "./check.ts";
import { jsonObject } from "./json-object.ts";
import { TEMPLATE_VALUES_MAX } from "./limits.ts";
import { type Effort, effortOf } from "./reasoning.ts";

/** Tokens of thinking: 0 is off, below 0 no limit. */
export const thinkingBudget = orNull(
  Type.Integer({
    description:
      "Most reasoning tokens of an answer: the reasoning is then ended by a sentence, and the answer follows. 0 turns thinking off; below 0 there is no budget.",
  }),
);
const budget = thinkingBudget;

const SWITCH_WORDS = ["enabled", "adaptive", "auto", "disabled"] as const;
const ThinkingField = Type.Object(
  {
    type: orNull(
      Type.Union(
        SWITCH_WORDS.map((word) => Type.Literal(word)),
        { description: "`disabled` turns thinking off, the others on." },
      ),
    ),
    budget_tokens: budget,
    display: orNull(
      Type.Union([Type.Literal("summarized"), Type.Literal("omitted")], {
        description: "Messages only: `omitted` leaves the text of thinking blocks empty.",
      }),
    ),
  },
  { $id: "ThinkingField", description: "Whether the model thinks first. On by default.", ...OPEN },
);

const ReasoningField = Type.Object(
  {
    effort: orNull(Type.String({ description: "`off` (or `none`), `low`, `medium`, `high`, `xhigh`." })),
    enabled: orNull(Type.Boolean({ description: "Whether the model reasons." })),
    max_tokens: budget,
  },
  { $id: "ReasoningField", description: "Thinking, as OpenRouter's clients set it.", ...OPEN },
);

/** Values of `think`, which Ollama's dialect has itself. */
const Think = Type.Union([Type.Boolean(), Type.String()], {
  description: 'Thinking on or off, or its effort: "low", "medium", "high". Default: on.',
});

const templateValues = orNull(
  jsonObject(
    "Variables of the chat template: `enable_thinking`, `thinking`, `reasoning_effort` and `thinking_budget` mean the same as the fields of these names, others are given to the template, as far as they are plain values.",
    TEMPLATE_VALUES_MAX,
  ),
);

/** Properties of a dialect without such fields of its own. */
export const thinkingProperties = {
  chat_template_kwargs: templateValues,
  thinking: orNull(
    Type.Union([Type.Boolean(), ThinkingField], { description: "Reasoning on or off, or with a budget." }),
  ),
  think: orNull(Think),
  reasoning_budget: budget,
  thinking_budget: budget,
  thinking_budget_tokens: budget,
  reasoning_budget_tokens: budget,
};
export const reasoningFieldProperties = { reasoning: orNull(ReasoningField) };

const Fields = Type.Object({
  ...thinkingProperties,
  ...reasoningFieldProperties,
  reasoning_effort: orNull(Type.String()),
  enable_thinking: orNull(Type.Boolean()),
});
export type ThinkingFields = Static<typeof Fields>;

/** What one field says. */
export interface Saying {
  readonly param: string;
  readonly value: unknown;
  /** Absent: it says only how much. */
  readonly enabled?: boolean | undefined;
  readonly effort?: Effort;
  /** Most reasoning tokens, at least 1. */
  readonly budget?: number;
}

/** What a field of the name says; nothing for another value than such a field has. */
type Reader = (value: unknown, param: string, compat: Compat) => readonly Saying[];

const ofSwitch: Reader = (value, param) => {
  if (!isPresent(value)) return [];
  if (typeof value === "boolean") return [{ param, value, enabled: value }];
  throw wrongType(param, "true or false", value);
};

const ofEffort: Reader = (value, param, compat) => {
  if (isPresent(value) && typeof value !== "string") throw wrongType(param, "the name of an effort", value);
  const effort = effortOf(value, { param, compat });
  return effort === undefined ? [] : [{ param, value, enabled: effort !== "off", effort }];
};

const ofEither: Reader = (value, param, compat) =>
  typeof value === "boolean" ? ofSwitch(value, param, compat) : ofEffort(value, param, compat);

const ofBudget: Reader = (value, param) => {
  if (!isPresent(value)) return [];
  if (typeof value !== "number" || !Number.isInteger(value))
    throw wrongType(param, "a whole number of tokens", value);
  if (value === 0) return [{ param, value, enabled: false }];
  return value > 0 ? [{ param, value, budget: value }] : [];
};

const ofObject: Reader = (value, param, compat) => {
  if (!isObject(value)) return ofSwitch(value, param, compat);
  const { type, enabled, effort, budget_tokens: tokens, max_tokens: most } = value;
  const isSwitch = SWITCH_WORDS.some((word) => word === type);
  const said = isSwitch ? [{ param: `${param}.type`, value: type, enabled: type !== "disabled" }] : [];
  return [
    ...said,
    ...ofEffort(effort, `${param}.effort`, compat),
    ...ofSwitch(enabled, `${param}.enabled`, compat),
    ...(type === "disabled" ? [] : ofBudget(tokens, `${param}.budget_tokens`, compat)),
    ...ofBudget(most, `${param}.max_tokens`, compat),
  ];
};

/** Of template variables: fields of a body are checked by their schema. */
function wrongType(param: string, wanted: string, value: unknown): ServiceError {
  return new ServiceError("invalid_request", `${param} must be ${wanted}; got ${describeValue(value)}`, {
    param,
  });
}

const READERS: Readonly<Record<string, Reader>> = {
  thinking: ofObject,
  reasoning: ofObject,
  reasoning_effort: ofEffort,
  enable_thinking: ofSwitch,
  think: ofEither,
  reasoning_budget: ofBudget,
  thinking_budget: ofBudget,
  thinking_budget_tokens: ofBudget,
  reasoning_budget_tokens: ofBudget,
};

/** Names that some templates have for the same. */
const TEMPLATE_READERS: Readonly<Record<string, Reader>> = {
  ...READERS,
  reasoning_strength: ofEffort,
  thinking_effort: ofEffort,
  budget: ofBudget,
  budget_tokens: ofBudget,
};

/** What the fields of a checked body say, in a fixed order. */
export function sayingsOf(body: ThinkingFields, compat: Compat): readonly Saying[] {
  const fields: Json = body;
  const inBody = Object.entries(READERS).flatMap(([name, reader]) => reader(fields[name], name, compat));
  const values = body.chat_template_kwargs ?? {};
  const inTemplate = Object.entries(TEMPLATE_READERS).flatMap(([name, reader]) =>
    reader(values[name], `chat_template_kwargs.${name}`, compat),
  );
  return [...inBody, ...inTemplate];
}

/**
 * What all sayings mean together; of several budgets, the smallest. Throws `contradictory_fields` where two of them disagree, about
 * thinking at all or about the effort.
 */
export function agreedThinking(sayings: readonly Saying[]): Thinking {
  const [first, ...others] = sayings.filter(({ enabled }) => enabled !== undefined);
  const other = others.find(({ enabled }) => enabled !== first?.enabled);
  if (first !== undefined && other !== undefined) throw contradiction(first, other);
  const [effort, ...efforts] = sayings.filter((one) => one.effort !== undefined && one.effort !== "off");
  const second = efforts.find((one) => one.effort !== effort?.effort);
  if (effort !== undefined && second !== undefined) throw contradiction(second, effort);
  const enabled = first?.enabled ?? true;
  const word = effort?.effort;
  if (!enabled || word === "off") return { enabled: enabled && word !== "off" };
  const budgets = sayings.flatMap((one) => one.budget ?? []);
  const limit = budgets.length === 0 ? {} : { budget: Math.min(...budgets) };
  if (first === undefined && word === undefined) return { enabled: true, unsaid: true, ...limit };
  return { enabled, ...defined({ effort: word }), ...limit };
}

function contradiction(one: Saying, other: Saying): ServiceError {
  const message = `${one.param} ${describeValue(one.value)} contradicts ${other.param} ${describeValue(other.value)}; send only one of them`;
  return new ServiceError("contradictory_fields", message, { param: one.param });
}

/** Whether a body says anything about thinking, for defaults that are filled in. */
export function saysThinking(body: Json): boolean {
  const values = body["chat_template_kwargs"];
  const isSaid = (fields: Json) => (name: string) => isPresent(fields[name]);
  return (
    Object.keys(READERS).some(isSaid(body)) ||
    (isObject(values) && Object.keys(TEMPLATE_READERS).some(isSaid(values)))
  );
}

/** Whether a body says anything about a budget of thinking. Fields of the wrong type say it: they are refused later. */
export function saysBudget(body: Json): boolean {
  const values = body["chat_template_kwargs"];
  const inTables = [body["thinking"], body["reasoning"]].some(
    (table) => isObject(table) && (isPresent(table["budget_tokens"]) || isPresent(table["max_tokens"])),
  );
  const isSaid = (fields: Json) => (name: string) =>
    TEMPLATE_READERS[name] === ofBudget && isPresent(fields[name]);
  const names = Object.keys(TEMPLATE_READERS);
  return inTables || names.some(isSaid(body)) || (isObject(values) && names.some(isSaid(values)));
}

/** Variables that templates get from the conversation itself. */
const OWN_VARIABLES: ReadonlySet<string> = new Set([
  "messages",
  "tools",
  "documents",
  "add_generation_prompt",
  "bos_token",
  "eos_token",
  "pad_token",
  "unk_token",
]);
/** Texts that cannot be markup: a template writes its variables as if they were its own words. */
const PLAIN_TEXT = /^[\p{L}\p{N} .,:;!?'"_+\-/()]{0,200}$/u;

/** Variables for the template besides those about thinking. Each is reported, and so is each that cannot be given. */
export function templateValuesOf(body: ThinkingFields, compat: Compat): Pick<ChatPrompt, "templateValues"> {
  const others = Object.entries(body.chat_template_kwargs ?? {}).filter(
    ([name, value]) => value !== null && !Object.hasOwn(TEMPLATE_READERS, name),
  );
  for (const [name] of others) compat.note("template_value", name);
  const given = others.flatMap(([name, value]) => {
    const isPlain =
      typeof value === "boolean" ||
      typeof value === "number" ||
      (typeof value === "string" && PLAIN_TEXT.test(value));
    return isPlain && !OWN_VARIABLES.has(name) ? [[name, value] as const] : [];
  });
  return given.length === 0 ? {} : { templateValues: Object.fromEntries(given) };
}
