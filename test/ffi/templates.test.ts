// Chat templates of real model families through llama.cpp's templates, parsers and grammars and our OutputParser. The
// built-in model lends its vocabulary: control tokens of other families are ordinary text to it, which is all that
// rendering and parsing need.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isGeneric } from "../../ffi/llama/generic-tools.ts";
import { LlamaTemplates } from "../../ffi/llama/chat.ts";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { takeText } from "../../ffi/text.ts";
import type { Message, ToolSpec } from "../../src/core/message.ts";
import type { Prompt, Thinking, ToolChoice } from "../../src/core/run.ts";
import type { RenderedPrompt } from "../../src/worker/text/backend.ts";
import type { OutputDelta } from "../../src/worker/text/output-parser.ts";
import { type Ability, FAMILIES, type Family } from "../helpers/families.ts";
import { native, tinyBackend } from "../helpers/native.ts";
import type { GrammarEngine } from "../../ffi/llama/grammar.ts";
import { compile, grammarEngine } from "../helpers/grammar.ts";
import { comparable, type ParsedAnswer, parseInPieces } from "../helpers/parse-output.ts";
import { inPieces, type ScriptedAnswer, scriptedAnswer } from "../helpers/scripted-answer.ts";
import { says } from "../helpers/template-cases.ts";
import { chatTemplates } from "../helpers/templates.ts";
import { budgeted } from "../helpers/budgeted-answer.ts";
import { gptOss, type Turn } from "../helpers/written.ts";

const templates = chatTemplates();

const WEATHER: ToolSpec = {
  name: "get_weather",
  description: "Tells the weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  strict: false,
};
const RANGE = { type: "object", properties: { from: { type: "integer" }, to: { type: "integer" } } };
const NOTES: ToolSpec = {
  name: "search_notes",
  description: "Searches the notes",
  parameters: {
    type: "object",
    properties: {
      query: { type: "string" },
      filter: {
        type: "object",
        properties: { tags: { type: "array", items: { type: "string" } }, range: RANGE },
      },
      limit: { type: "integer" },
    },
    required: ["query", "filter"],
  },
  strict: false,
};
const TOOLS = [WEATHER, NOTES];

const PARIS = { name: "get_weather", args: { city: "Paris" } };
const NASTY = {
  name: "search_notes",
  args: {
    query: 'say "hi" to C:\\dir {now}\nsecond – 猫 🐈',
    filter: { tags: ["a b", "ü"], range: { from: -1, to: 10 } },
    limit: 3,
  },
};

const QUESTION = [says("user", "How is it outside?")];

interface Asked {
  readonly messages?: readonly Message[];
  readonly tools?: readonly ToolSpec[];
  readonly toolChoice?: ToolChoice;
  readonly thinking?: Thinking;
}

/** A rendered prompt with its text. */
interface Rendered extends RenderedPrompt {
  readonly text: string;
}

let backend: LlamaBackend;
let grammars: GrammarEngine;
const opened = new Map<string, LlamaTemplates>();
const prompts: RenderedPrompt[] = [];
beforeAll(async () => {
  backend = await tinyBackend({ contextLen: 512 });
  grammars = grammarEngine(backend.tokens());
});
afterAll(() => {
  for (const prompt of prompts) prompt.free();
  for (const template of opened.values()) template.close();
  grammars.close();
  backend.close();
});

function open(name: string): LlamaTemplates {
  const source = templates.type === "found" ? templates.sources.get(name) : undefined;
  if (source === undefined) throw new Error(`llama.cpp has no template ${name}`);
  const known = opened.get(name);
  if (known !== undefined) return known;
  const template = new LlamaTemplates(native(), backend.modelHandle, {
    vocabulary: backend.vocabulary,
    source,
    media: undefined,
    contextTokens: 4096,
  });
  opened.set(name, template);
  return template;
}

function render(name: string, { messages = QUESTION, tools = [], ...rest }: Asked = {}): Rendered {
  const prompt: Prompt = {
    type: "chat",
    messages,
    tools,
    toolChoice: { type: "auto" },
    thinking: { enabled: true },
    ...rest,
  };
  const pending = open(name).render(prompt);
  let rendered: RenderedPrompt | undefined;
  while (rendered === undefined) rendered = pending.take(5000);
  prompts.push(rendered);
  // Prompts of this folder's own making have a handle; nobody else needs to know.
  const { handle } = rendered as RenderedPrompt & { readonly handle: bigint };
  return Object.assign(rendered, { text: takeText(native(), native().svc_render_prompt(handle)) });
}

const SIZES = [1, 3, 7, 1000];

/** The one answer that comes of all piece sizes; of two calls no two have the same id. */
function parseAll({ lateIds }: Pick<Family, "lateIds">, prompt: RenderedPrompt, raw: string): ParsedAnswer {
  const answers = SIZES.map((size) => parseInPieces(prompt, raw, size).answer);
  for (const { calls } of answers) {
    const ids = calls.map(({ id }) => id);
    expect(ids).not.toContain("");
    expect(new Set(ids).size).toBe(ids.length);
    if (lateIds) for (const call of calls) call.id = "";
  }
  const [first] = answers;
  if (first === undefined) throw new Error("there are piece sizes");
  for (const other of answers) expect(other).toEqual(first);
  return first;
}

/** Words that the turn says and that stand in `raw` must come out somewhere, and `named` the names of its calls. */
function expectNothingLost(
  turn: Turn,
  raw: string,
  { reasoning, text, calls }: ParsedAnswer,
  named = true,
): void {
  const names = named ? (turn.calls ?? []).map(({ name }) => name) : [];
  const words = [turn.reasoning ?? "", turn.text ?? "", ...names].join(" ").split(/\s+/);
  const out = [reasoning, text, ...calls.map(({ name, args }) => name + args)].join(" ");
  for (const word of words.filter((word) => raw.includes(word))) expect(out).toContain(word);
  if (turn.calls?.includes(PARIS) === true && raw.includes("Paris")) expect(out).toContain("Paris");
}

const CASES: readonly { name: string; needs: readonly Ability[]; turn: Turn }[] = [
  {
    name: "plain text",
    needs: [],
    turn: { text: 'Text, a < b & <b>bold</b> {x: 1} [y].\n\nNext – 猫 🐈 `code` "quoted".' },
  },
  {
    name: "reasoning and text",
    needs: [],
    turn: { reasoning: "Two and two, 1 < 2.\nSo four – 猫.", text: "Four." },
  },
  { name: "a call", needs: ["call"], turn: { calls: [PARIS] } },
  { name: "a call with nested and quoted arguments", needs: ["call"], turn: { calls: [NASTY] } },
  { name: "two calls", needs: ["call", "parallel"], turn: { calls: [PARIS, NASTY] } },
  { name: "reasoning and a call", needs: ["call"], turn: { reasoning: "I look.", calls: [PARIS] } },
  {
    name: "text before a call",
    needs: ["call", "text before call"],
    turn: { text: "Let me look that up.", calls: [PARIS] },
  },
];

function limitOf({ limits }: Family, needs: readonly Ability[]): string | undefined {
  return needs.map((ability) => limits[ability]).find((reason) => reason !== undefined);
}

function titled(name: string, limit: string | undefined): string {
  return limit === undefined ? name : `${name} – not quite: ${limit}`;
}

const PROSE = "Prose of some words, then ";
const CODE =
  '<a href="x">HTML</a>:\n\n```json\n{"a": [1, {"b": 2}]}\n```\n\n```js\nif (a > b) { f(); }\n```\n';
const LONG = (PROSE.repeat(3) + CODE).repeat(115).slice(0, 20_000);

/** Whether the grammar of the tools takes an answer, put in force where the engine does it. */
function grammarTakes(prompt: RenderedPrompt, raw: string): boolean {
  const plan = prompt.plan();
  if (plan === undefined) throw new Error("no calls can be made");
  const matcher = compile(grammars, plan.constraint);
  const [marker = ""] = prompt.format.toolMarkers;
  const text = plan.from === "start" ? raw : raw.slice(raw.indexOf(marker));
  const taken = matcher.feed(text) !== "rejected";
  matcher.free();
  return taken;
}

function describeFamily(family: Family): void {
  const { name, template, write, limits } = family;
  const withTools = (more: Asked = {}): Rendered => render(template, { tools: TOOLS, ...more });
  const written = (prompt: RenderedPrompt, turn: Turn): string =>
    write(turn, prompt.format.startsInReasoning);

  describe(name, () => {
    test(titled("shows a conversation, tools, calls and results", limits.history), () => {
      const called = says("assistant", "", {
        toolCalls: [{ id: "call_0123456789abcdef", name: "get_weather", arguments: '{"city": "Ravenna"}' }],
      });
      const thought = family.reasons ? { reasoning: "Pondering." } : {};
      const talk = [...QUESTION, says("assistant", "Grey skies.", thought), says("user", "And tomorrow?")];
      const simple = withTools({ messages: talk }).text;
      for (const word of ["How is it outside?", "Grey skies.", "And tomorrow?"])
        expect(simple).toContain(word);
      const shown = TOOLS.every(
        (tool) => simple.includes(tool.name) && simple.includes(tool.description ?? ""),
      );
      expect(shown).toBe(true);
      if (limits.history !== undefined) return;
      const result = says("tool", '{"sky": "overcast"}', {
        toolCallId: "call_0123456789abcdef",
        name: "get_weather",
      });
      const messages = [says("system", "Be terse."), ...QUESTION, called, result, ...talk.slice(1)];
      const full = withTools({ messages }).text;
      for (const word of ["Be terse.", "Ravenna", "overcast", "Grey skies.", "And tomorrow?"])
        expect(full).toContain(word);
    });

    test("thinking and effort reach the prompt if the template supports them", () => {
      const [on, off, low, high] = [
        { enabled: true },
        { enabled: false },
        { enabled: true, effort: "low" } as const,
        { enabled: true, effort: "high" } as const,
      ].map((thinking) => render(template, { thinking }));
      expect(on?.text !== off?.text).toBe(family.switches || family.effort); // without a switch, off is the lowest effort
      expect(low?.text !== high?.text).toBe(family.effort);
      if (family.switches) expect(off?.format.startsInReasoning).toBe(false);
      if (on?.format.startsInReasoning === true) expect(family.reasons).toBe(true);
    });

    for (const { name: what, needs, turn } of CASES) {
      if (turn.reasoning !== undefined && !family.reasons) continue;
      const limit = limitOf(family, needs);
      test(titled(what, limit), () => {
        const prompt = withTools();
        const raw = written(prompt, turn);
        const answer = parseAll(family, prompt, raw);
        if (limit !== undefined) return expectNothingLost(turn, raw, answer);
        expect(comparable(answer)).toEqual({ reasoning: "", text: "", calls: [], ...turn });
        if (needs.length > 0) return;
        const bare = render(template);
        expect(comparable(parseAll(family, bare, written(bare, turn)))).toEqual(comparable(answer));
      });
    }

    test("an answer after an answer", () => {
      const messages = [...QUESTION, says("assistant", "Grey skies.")];
      const turn = { text: "And wind." };
      const [said, bare] = [withTools({ messages }), render(template, { messages })];
      for (const prompt of [said, bare])
        expect(comparable(parseAll(family, prompt, written(prompt, turn)))).toMatchObject(turn);
      if (limits.call === undefined) expect(grammarTakes(said, written(said, { calls: [PARIS] }))).toBe(true);
    });

    if (family.reasons) {
      test("reasoning that talks about calls", () => {
        const prompt = withTools();
        const reasoning = `First think. I may write ${write({ calls: [PARIS] }, false)} or not.`;
        const turn = { reasoning, text: "Done." };
        const answer = parseAll(family, prompt, written(prompt, turn));
        expect(comparable(answer)).toEqual({ ...turn, calls: [] });
      });
    }

    test("calls begin only where a call begins", () => {
      const prompt = withTools();
      if (prompt.plan()?.from === "start" || limits.call !== undefined) return; // a grammar holds from the first token on
      const made = write({ calls: [PARIS] }, false);
      const [marker = made.slice(0, made.indexOf("get_weather"))] = prompt.format.toolMarkers;
      const mark = marker.trimEnd();
      const scripted = (raw: string, reason?: "length"): ScriptedAnswer =>
        scriptedAnswer(prompt, grammars, inPieces(raw, [mark, "example"], "words"), reason);
      const bare = (text: string): string => text.replaceAll(/\s+/g, "");
      const calls = [{ name: "get_weather" }];
      const fence = made.includes("```") ? "" : `or\n\`\`\`\n${made}\n\`\`\`\n`;
      const about = `The ${mark} tag: words, ${fence}so ${mark}`;
      const said = scripted(written(prompt, { text: about }));
      expect([said.calls, said.forced, bare(said.text)]).toEqual([[], undefined, bare(about)]);
      if (family.reasons) {
        const thought = scripted(written(prompt, { reasoning: `${about}, ${made} or not.`, text: "No." }));
        expect([thought.calls, thought.forced, thought.text.trim()]).toEqual([[], undefined, "No."]);
        expect(bare(thought.reasoning)).toBe(bare(`${about}, ${made} or not.`));
        const [open = ""] = written(prompt, { reasoning: `I look. ${made}\u0001` }).split("\u0001");
        for (const raw of [open, written(prompt, { reasoning: `I look. ${made}`, text: "" })])
          expect(scripted(raw)).toMatchObject({ text: "", reason: "tool_calls", calls });
      }
      expect(scripted(made.replace(mark, mark.replaceAll(/\s+/g, " ")))).toMatchObject({ text: "", calls });
      const pieces = inPieces(written(prompt, { calls: [PARIS] }), [mark], "words");
      for (let n = 1; n < pieces.length; n += 3) {
        const { text, reasoning } = scripted(pieces.slice(0, n).join(""), "length");
        expect([n, text.trim(), reasoning.trim()]).toEqual([n, "", ""]);
      }
    });

    test("a truncated answer loses no text", () => {
      const prompt = withTools();
      // Where calls have no fixed beginning, one that lacks its arguments looks like any other markup.
      const named = prompt.format.toolMarkers.length > 0;
      const turn = { ...(family.reasons ? { reasoning: "First think." } : {}), calls: [PARIS] };
      for (const whole of [turn, { ...turn, calls: [], text: "Second say." }]) {
        const raw = written(prompt, whole);
        for (let cut = 1; cut < raw.length; cut += 1 + (raw.length >> 4)) {
          const part = raw.slice(0, cut);
          expectNothingLost(whole, part, parseAll(family, prompt, part), named);
        }
      }
    });

    test("text, reasoning and arguments stream", () => {
      const prompt = withTools();
      const words = "word ".repeat(40).trim();
      const count = (turn: Turn, type: OutputDelta["type"]): number =>
        parseInPieces(prompt, written(prompt, turn), 5).deltas.filter((delta) => delta.type === type).length;
      expect(count({ text: words }, "text")).toBeGreaterThan(20);
      if (family.reasons) expect(count({ reasoning: words, text: "Yes." }, "reasoning")).toBeGreaterThan(20);
      const call = { name: "get_weather", args: { city: words } };
      if (limits.call === undefined) expect(count({ calls: [call] }, "tool_call_args")).toBeGreaterThan(10);
    });

    test("a long answer has a negligible parsing cost", () => {
      const prompt = withTools();
      for (const turn of [{ text: LONG }, { reasoning: LONG, text: "Yes." }]) {
        if ("reasoning" in turn && !family.reasons) continue;
        const raw = written(prompt, turn);
        const { answer, charsRead } = parseInPieces(prompt, raw, 5);
        expect(answer.text.trim()).toBe(turn.text.trim());
        // A parser asked at every piece would read 2 000 times as much as there is.
        expect(charsRead).toBeLessThan(raw.length * 15);
      }
    });

    const grammarLimit = limits.required ?? limits.call ?? limits["grammar under auto"];
    test(titled("the grammar takes calls and no others", grammarLimit), () => {
      const turns: Turn[] = [{ calls: [PARIS] }, { calls: [NASTY] }];
      if (limits.parallel === undefined) turns.push({ calls: [PARIS, NASTY] });
      for (const choice of ["auto", "required"] as const) {
        const prompt = withTools({ toolChoice: { type: choice } });
        if (prompt.format.toolMarkers[0] === "{") continue; // its beginning may be that of a call only
        for (const turn of turns) {
          const raw = written(prompt, turn);
          const isOneOnly = isGeneric(prompt.text) && choice === "required";
          const taken = limits.call === undefined && !(isOneOnly && (turn.calls?.length ?? 0) > 1);
          expect([choice, raw, grammarTakes(prompt, raw)]).toEqual([choice, raw, taken]);
          if (taken) expect(comparable(parseAll(family, prompt, raw))).toMatchObject(turn);
        }
        const alien = written(prompt, { calls: [{ name: "get_money", args: {} }] });
        const blind = choice === "auto" && limits["grammar under auto"] !== undefined;
        expect(grammarTakes(prompt, alien)).toBe(blind);
      }
    });

    test(titled("a deferred tool is not in the prompt, and can be called", grammarLimit), () => {
      if (isGeneric(withTools().text)) return;
      const prompt = withTools({ tools: [WEATHER, { ...NOTES, deferred: true }] });
      expect(prompt.text).not.toContain("search_notes");
      const raw = written(prompt, { calls: [NASTY] });
      if (limits.call === undefined) {
        expect(grammarTakes(prompt, raw)).toBe(true);
        expect(comparable(parseAll(family, prompt, raw))).toMatchObject({ calls: [NASTY] });
      }
    });
  });
}

if (templates.type === "missing") {
  console.warn(`Skipped: the chat templates of model families could not be had (${templates.reason}).`);
  test.skip(`chat templates of model families: ${templates.reason}`, () => {});
} else {
  for (const family of FAMILIES) describeFamily(family);

  const others = [...templates.sources.keys()].filter((name) => FAMILIES.every((f) => f.template !== name));
  test.each(others)("%s: in every format, text arrives and calls can be required or optional", (name) => {
    const prompt = render(name, { tools: TOOLS, thinking: { enabled: false } });
    const turn = { text: "Text, a < b & <b>bold</b> {x: 1} [y]." };
    const { startsInReasoning, thinkingEnds } = prompt.format;
    const raw = (startsInReasoning ? (thinkingEnds[0] ?? "") : "") + turn.text;
    expectNothingLost(turn, raw, parseAll({ lateIds: false }, prompt, raw));
    const required = render(name, { tools: TOOLS, toolChoice: { type: "required" } });
    expect(grammarTakes(required, "")).toBe(true);
  });

  test("Seed-OSS: the template tells the model its budget, and that there is none", () => {
    const text = (thinking: Thinking): string => render("ByteDance-Seed-OSS", { thinking }).text;
    expect(text({ enabled: true, budget: 512 })).toContain("complete your thinking within 512 tokens");
    expect(text({ enabled: true })).not.toContain("thinking budget");
    expect(text({ enabled: false })).toContain("your thinking budget is 0");
  });

  test("reasoning is not ended within a call that it quotes", () => {
    const prompt = render("Qwen-Qwen3-0.6B", { tools: TOOLS, thinking: { enabled: true, budget: 3 } });
    const call = [
      "<tool_call>",
      '\n{"name": "get_weather", ',
      '"arguments": {"city": ',
      '"Paris"}}',
      "\n</tool_call>",
    ];
    const { reasoning, text } = budgeted(
      prompt,
      ["<think>", "I ", "say ", ...call, " so", " and more"],
      "Paris.",
    );
    expect(reasoning).toMatch(/"Paris"\}\}\n<\/tool_call> so.*\n\nI have/);
    expect(text.trim()).toBe("Paris.");
  });

  test("gpt-oss: headers of messages are held to their form without tools, too", () => {
    const marks = ["<|channel|>", "<|message|>", "<|end|>", "<|start|>"];
    const scripted = (raw: string, prompt = render("openai-gpt-oss-120b")): ScriptedAnswer =>
      scriptedAnswer(prompt, grammars, inPieces(raw, marks, "words"));
    const announced = gptOss({ text: "I look.", calls: [PARIS] }, false);
    const called = scripted(announced, render("openai-gpt-oss-120b", { tools: TOOLS }));
    expect(called).toMatchObject({ text: "I look.", calls: [{ name: "get_weather" }], forced: undefined });
    const raw = gptOss({ reasoning: "Hm.", text: "Hello." }, false);
    expect(scripted(raw)).toMatchObject({ reasoning: "Hm.", text: "Hello.", forced: undefined });
    expect(scripted("<|channel|>?? commentary 2?<|message|>Hello.").forced).toBe("??");
    expect(render("Qwen-Qwen3-0.6B").plan()).toBeUndefined();
  });

  test("the error of a rejected conversation quotes the template", () => {
    const template = new LlamaTemplates(native(), backend.modelHandle, {
      vocabulary: backend.vocabulary,
      contextTokens: backend.contextTokens,
      source: "{{ raise_exception('Only single questions, please!') }}",
      media: undefined,
    });
    const pending = template.render({
      type: "chat",
      messages: QUESTION,
      tools: [],
      toolChoice: { type: "auto" },
      thinking: { enabled: true },
    });
    const take = (): void => {
      while (pending.take(5000) === undefined);
    };
    expect(take).toThrow(
      /^the model's chat template rejects this conversation: [^\n]*single questions[^\n]*$/,
    );
    template.close();
  });
}
