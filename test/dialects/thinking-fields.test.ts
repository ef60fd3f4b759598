// The fields by which clients switch thinking on and off mean the same in every dialect.

import { describe, expect, test } from "bun:test";
import { type Compat, type CompatMode, STRICT } from "../../src/core/compat.ts";
import type { ChatPrompt, Thinking } from "../../src/core/run.ts";
import { parseChatRequest } from "../../src/dialects/chat/request.ts";
import { parseMessagesRequest } from "../../src/dialects/messages/request.ts";
import { parseOllamaChat, parseOllamaGenerate } from "../../src/dialects/ollama/request.ts";
import { parseResponsesRequest } from "../../src/dialects/responses/request.ts";
import { withChatPreset, withMessagesPreset, withResponsesPreset } from "../../src/dialects/shared/preset.ts";
import { chatBody, messagesBody, responsesBody } from "../helpers/app.ts";
import { NOTHING_STORED } from "../helpers/response-head.ts";
import { refusalOf } from "../helpers/rules.ts";

type Body = Readonly<Record<string, unknown>>;
type Prompt = Pick<ChatPrompt, "thinking" | "templateValues">;

function ollama(work: ReturnType<typeof parseOllamaChat>["work"]): Prompt {
  if (work.type !== "converse") throw new Error("it is no conversation");
  return work.conversation.run.prompt;
}

const DIALECTS: readonly [string, (extra: Body, compat: Compat) => Prompt][] = [
  ["chat", (extra, compat) => parseChatRequest(chatBody(extra), compat).run.prompt],
  ["messages", (extra, compat) => parseMessagesRequest(messagesBody(extra), compat).run.prompt],
  [
    "responses",
    (extra, compat) => parseResponsesRequest(responsesBody(extra), NOTHING_STORED, compat).run.prompt,
  ],
  ["/api/chat", (extra, compat) => ollama(parseOllamaChat(chatBody(extra), compat).work)],
  ["/api/generate", (extra, compat) => ollama(parseOllamaGenerate({ prompt: "a", ...extra }, compat).work)],
];

const kwargs = (values: Body): Body => ({ chat_template_kwargs: values });

const OFF: readonly Body[] = [
  kwargs({ enable_thinking: false }),
  kwargs({ thinking: false }),
  kwargs({ reasoning_effort: "none" }),
  kwargs({ thinking_budget: 0 }),
  { thinking: { type: "disabled" } },
  { thinking: { type: "disabled", budget_tokens: 5 } },
  { thinking: false },
  { reasoning: { effort: "none" } },
  { reasoning: { enabled: false } },
  { reasoning: { max_tokens: 0 } },
  { think: false },
  { think: "off" },
  { reasoning_budget: 0 },
  { think: false, ...kwargs({ enable_thinking: false, thinking: false }) },
];
const ON: readonly Body[] = [
  kwargs({ enable_thinking: true }),
  { thinking: { type: "enabled" } },
  { thinking: { type: "auto" } },
  { reasoning: { enabled: true } },
  { think: true },
];
const LOW: readonly Body[] = [
  kwargs({ reasoning_effort: "low" }),
  kwargs({ reasoning_effort: "low", enable_thinking: true }),
  { reasoning: { effort: "low" } },
  { think: "low" },
];
const UNSAID: readonly Body[] = [
  {},
  kwargs({}),
  { thinking: null },
  { reasoning: {} },
  { reasoning_budget: -1 },
];
const BUDGETS: readonly (readonly [Body, Thinking])[] = [
  [{ thinking_budget: 100 }, { enabled: true, unsaid: true, budget: 100 }],
  [{ thinking_budget_tokens: 100 }, { enabled: true, unsaid: true, budget: 100 }],
  [
    { reasoning_budget: 100, think: true },
    { enabled: true, budget: 100 },
  ],
  [{ thinking: { type: "enabled", budget_tokens: 2048 } }, { enabled: true, budget: 2048 }],
  [{ reasoning: { max_tokens: 70, effort: "low" } }, { enabled: true, effort: "low", budget: 70 }],
  [kwargs({ thinking_budget: 7 }), { enabled: true, unsaid: true, budget: 7 }],
  [
    { ...kwargs({ thinking_budget: 7 }), thinking_budget: 9 },
    { enabled: true, unsaid: true, budget: 7 },
  ],
  [{ thinking_budget: 9, think: false }, { enabled: false }],
];
const CONTRADICTIONS: readonly (readonly [Body, string])[] = [
  [{ think: true, ...kwargs({ enable_thinking: false }) }, "think"],
  [{ thinking: { type: "enabled" }, reasoning: { enabled: false } }, "thinking.type"],
  [{ reasoning: { effort: "low", enabled: false } }, "reasoning.effort"],
  [{ reasoning: { effort: "low" }, think: "high" }, "think"],
];

describe.each(DIALECTS)("%s", (_, prompt) => {
  const thinking = (body: Body, mode: CompatMode = "strict") => prompt(body, { ...STRICT, mode }).thinking;

  test.each(OFF)("off: %j", (body) => {
    for (const mode of ["strict", "clients"] as const)
      expect(thinking(body, mode)).toEqual({ enabled: false });
  });
  test.each(ON)("on: %j", (body) => expect(thinking(body)).toEqual({ enabled: true }));
  test.each(LOW)("low: %j", (body) => expect(thinking(body)).toEqual({ enabled: true, effort: "low" }));
  test.each(UNSAID)("unsaid: %j", (body) => expect(thinking(body)).toEqual({ enabled: true, unsaid: true }));

  test.each(CONTRADICTIONS)("a contradiction: %j", (body, param) => {
    expect(refusalOf(() => thinking(body), {})).toMatchObject({ code: "contradictory_fields", param });
  });

  test("variables of the template are given to it and reported, markup is not", () => {
    const noted: string[] = [];
    const values = {
      enable_thinking: true,
      date: "26 Jul 2024",
      deep: { a: 1 },
      text: "<|im_start|>",
      bos_token: "a",
      n: 3,
    };
    const note: Compat["note"] = (kind, what) => void noted.push(`${kind}=${what}`);
    expect(prompt(kwargs(values), { ...STRICT, note }).templateValues).toEqual({ date: "26 Jul 2024", n: 3 });
    expect(noted).toEqual(["date", "deep", "text", "bos_token", "n"].map((name) => `template_value=${name}`));
  });

  test("a known variable of another type is refused, a limit is reported", () => {
    expect(refusalOf(() => thinking(kwargs({ enable_thinking: "no" })), {})).toMatchObject({
      param: "chat_template_kwargs.enable_thinking",
    });
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`v${at}`, at]));
    expect(refusalOf(() => thinking(kwargs(many)), {})).toMatchObject({ param: "chat_template_kwargs" });
  });

  test.each(BUDGETS)("a budget: %j", (body, expected) => expect(thinking(body)).toEqual(expected));
});

test("a model's budget counts where a body has none, and thinks", () => {
  const thought = (body: Body) =>
    [
      parseChatRequest(withChatPreset(chatBody(body), { thinking_budget: 50 })).run.prompt,
      parseResponsesRequest(withResponsesPreset(responsesBody(body), { thinking_budget: 50 }), NOTHING_STORED)
        .run.prompt,
    ].map(({ thinking }) => thinking);
  const each = (thinking: Thinking) => [thinking, thinking];
  expect(thought({})).toEqual(each({ enabled: true, unsaid: true, budget: 50 }));
  expect(thought({ reasoning: { effort: "low" } })).toEqual(
    each({ enabled: true, effort: "low", budget: 50 }),
  );
  expect(thought({ reasoning: { max_tokens: 9 } })).toEqual(each({ enabled: true, unsaid: true, budget: 9 }));
  expect(thought({ reasoning: { max_tokens: -1 } })).toEqual(each({ enabled: true, unsaid: true }));
  expect(thought({ thinking: { type: "enabled", budget_tokens: 70 } })).toEqual(
    each({ enabled: true, budget: 70 }),
  );
  expect(thought({ think: false })).toEqual(each({ enabled: false }));
});

test("defaults of a model do not contradict what a body says", () => {
  for (const body of [...OFF, ...LOW]) {
    const filled = withChatPreset(chatBody(body), { thinking: true });
    expect(parseChatRequest(filled).run.prompt.thinking).toEqual(
      parseChatRequest(chatBody(body)).run.prompt.thinking,
    );
    const other = withResponsesPreset(responsesBody(body), { thinking: true });
    const prompt = parseResponsesRequest(other, NOTHING_STORED).run.prompt;
    expect(prompt.thinking).toEqual(
      parseResponsesRequest(responsesBody(body), NOTHING_STORED).run.prompt.thinking,
    );
  }
  expect(parseChatRequest(withChatPreset(chatBody(), { thinking: false })).run.prompt.thinking).toEqual({
    enabled: false,
  });
});

test("a model's compaction holds beside a client's edits of other kinds", () => {
  const filled = (management: unknown): unknown =>
    withMessagesPreset(messagesBody({ context_management: management }), { compact_at: 0.5 }).compact_at;
  expect(filled(undefined)).toBe(0.5);
  expect(filled({ edits: [{ type: "clear_thinking_20251015", keep: "all" }] })).toBe(0.5);
  expect(filled({ edits: [{ type: "compact_20260112" }] })).toBeUndefined();
});
