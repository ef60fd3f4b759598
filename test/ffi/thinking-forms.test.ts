// Budgets of reasoning in every form in which models reason: the templates of llama.cpp's source and forms that these do not show. Real
// templates, tokens, parsers and grammars, with a model that would reason for ever.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { GrammarEngine } from "../../ffi/llama/grammar.ts";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { RunEvent, RunRequest } from "../../src/core/run.ts";
import { Engine } from "../../src/worker/text/engine.ts";
import { chatRequest } from "../helpers/engine-run.ts";
import { grammarEngine } from "../helpers/grammar.ts";
import { tinyBackend } from "../helpers/native.ts";
import { chatTemplates } from "../helpers/templates.ts";
import { WritingBackend, type WrittenForm } from "../helpers/writing-backend.ts";

const ANSWER = '{"city": "Paris"}';
const SCHEMA = {
  type: "object",
  properties: { city: { enum: ["Paris", "Rome"] } },
  required: ["city"],
  additionalProperties: false,
};
const SENTENCE = "I have thought about this long enough. I answer now.";

/** Markup with which answers begin after reasoning, by a part of the template's name. */
const OPENINGS: readonly (readonly [string, WrittenForm])[] = [
  [
    "gpt-oss",
    {
      opening: "<|start|>assistant<|channel|>final<|message|>",
      again: "<|start|>assistant",
    },
  ],
  ["gemma-4", { opening: "", again: "" }],
  ["Cohere2MoE", { opening: "<|START_TEXT|>", closing: "<|END_TEXT|>" }],
  ["command-r7b", { opening: "<|START_RESPONSE|>", closing: "<|END_RESPONSE|>" }],
  ["Solar-Open", { opening: "<|content|>", closing: "<|end|>" }],
  ["Kimi-K3", { opening: "<|open|>response<|sep|>" }],
  ["muse-glimmer", { opening: "<|start|>assistant to=user<|message|>" }],
  ["functionary-medium-v3.2", { opening: "all\n" }],
];

const TALK =
  "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";
/** Forms of which a template shows no history. */
const OWN: readonly (readonly [string, string])[] = [
  [
    "Granite 3.2",
    `{% if enable_thinking %}<|im_start|>system\nWrite your thoughts after 'Here is my thought process:' and your answer after 'Here is my response:'.<|im_end|>\n{% endif %}${TALK}`,
  ],
  ["tags of the vocabulary", TALK],
];

const templates = chatTemplates();
const all: readonly (readonly [string, string])[] =
  templates.type === "found" ? [...templates.sources, ...OWN] : OWN;
if (templates.type === "missing")
  console.warn(`Skipped: the chat templates of model families could not be had (${templates.reason}).`);

let model: LlamaBackend;
let grammars: GrammarEngine;
beforeAll(async () => {
  model = await tinyBackend({ contextLen: 512 });
  grammars = grammarEngine(model.tokens());
});
afterAll(() => {
  grammars.close();
  model.close();
});

interface Outcome {
  reasoning: string;
  text: string;
  usage?: Extract<RunEvent, { type: "finish" }>["usage"];
}

function thinking(budget: number | undefined, extra: Partial<RunRequest> = {}): RunRequest {
  const request = chatRequest("Where?", { maxTokens: 400, ...extra });
  if (request.prompt.type !== "chat") throw new Error("a conversation");
  const limit = budget === undefined ? {} : { budget };
  return { ...request, prompt: { ...request.prompt, thinking: { enabled: true, ...limit } } };
}

let drafted = 0;

/** All of them beside each other, with drafts. */
function answersOf(backend: WritingBackend, requests: readonly RunRequest[]): Outcome[] {
  const outcomes = requests.map((): Outcome => ({ reasoning: "", text: "" }));
  const engine = new Engine({
    backend,
    constraints: () => grammars,
    prefixCacheN: 0,
    drafts: "ngram",
    emit: (run, event) => {
      const outcome = outcomes[run];
      if (outcome === undefined) return;
      if (event.type === "text" || event.type === "reasoning") outcome[event.type] += event.text;
      if (event.type === "finish") outcome.usage = event.usage;
      if (event.type === "error") throw new Error(event.error.message);
    },
    now: () => performance.now(),
    newSeed: () => 1,
  });
  requests.forEach((request, id) => engine.add(id, request));
  while (engine.step(5) !== "idle");
  drafted += engine.stats().draftTokens;
  engine.close();
  return outcomes;
}

test.each(all)("%s: reasoning ends at its budget, whatever runs beside it", (name, source) => {
  const [, form = { opening: "" }] = OPENINGS.find(([family]) => name.includes(family)) ?? [];
  const backend = new WritingBackend(model, source, form, ANSWER);
  const schema = { constraint: { type: "json_schema", schema: SCHEMA, strict: true } } as const;
  const budgets = [1, 9, 30];
  const outcomes = answersOf(backend, [...budgets.map((budget) => thinking(budget)), thinking(9, schema)]);
  const { thinkingCloses: [close, tag] = [], thinkingAgain: [again] = [] } = backend.written;
  [...budgets, 9].forEach((budget, at) => {
    const { reasoning, text, usage } = outcomes[at] ?? { reasoning: "", text: "" };
    expect(text.trim()).toBe(ANSWER);
    const isHeld = at === budgets.length; // by a schema, which may have no room for an opening tag, or for a second thought
    if (isHeld && usage?.reasoningTokens === 0) return;
    expect(reasoning.trim()).toEndWith(SENTENCE);
    const isAgain = usage?.closedThoughts === 2;
    expect(isAgain).toBe(form.again !== undefined && (!isHeld || isAgain));
    const spent = budget + (close?.tokens.length ?? 0) + (isAgain ? 1 + (again?.tokens.length ?? 0) : 0);
    expect(usage?.reasoningTokens).toBe(spent);
  });
  const { startsInReasoning, thinkingStartTokens, answerOpening = 0 } = backend.written;
  const opening = startsInReasoning ? 1 : thinkingStartTokens.length + 1;
  /** The least that has room for a token of reasoning and one of the answer. */
  const least = opening + (tag?.tokens.length ?? 0) + answerOpening + 1;
  const [{ tokens: skip } = { tokens: [] }] = backend.written.thinkingSkip ?? [];
  const few = form.again === "" ? [] : [skip.length + 1, least - 1, least, least + 3];
  const caps = [...few, 150];
  for (const { text } of answersOf(
    backend,
    caps.map((maxTokens) => thinking(undefined, { maxTokens })),
  ))
    expect(text.trim()).not.toBe("");
  backend.close();
});

test("drafts were tried", () => expect(drafted).toBeGreaterThan(1000));
