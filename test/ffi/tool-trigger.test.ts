// Formats that tell by patterns where a tool call begins: the grammar must hold from exactly there, however long the answer
// was before. The built-in model lends its vocabulary; the reference is each pattern searched in the whole answer.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { LlamaTemplates } from "../../ffi/llama-chat.ts";
import type { LlamaBackend } from "../../ffi/llama.ts";
import { takeText } from "../../ffi/text.ts";
import type { Prompt } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import type { RenderedPrompt, SamplerHandle } from "../../src/worker/backend.ts";
import { native, tinyBackend } from "../helpers/native.ts";
import { chatTemplates } from "../helpers/templates.ts";

const templates = chatTemplates();

const PROMPT: Prompt = {
  type: "chat",
  messages: [{ role: "user", content: [{ type: "text", text: "How is it outside?" }] }],
  tools: [
    {
      name: "get_weather",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      strict: false,
    },
  ],
  toolChoice: { type: "auto" },
  thinking: { enabled: true },
};

/** Longer than what is looked at, and full of what is nearly the beginning of a call. */
const LONG = "We go to town. <|start|> of the day, > and >>, assistant to all. ".repeat(60);

/** Template → beginnings of answers. */
const ANSWERS: Readonly<Record<string, readonly string[]>> = {
  "openai-gpt-oss-120b": [
    " to=functions.get_weather<|channel|>commentary",
    "<|channel|>commentary to=functions.get_weather",
    "<|channel|>analysis<|message|>I could go  to=functions.<|end|><|start|>assistant<|channel|>commentary to=fun",
    "<|channel|>final<|message|>It is\n to",
    `<|channel|>analysis<|message|>${LONG}<|end|><|start|>assistant to=functions.get`,
    `<|channel|>final<|message|>${LONG}<|channel|>commentary to=functions`,
  ],
  "muse-glimmer": [
    " to=get_weather<|message|><atem:function",
    " to=user<|message|>Hello",
    `<|message|>${LONG}<|start|>assistant to=get_weather<|message|><atem:function`,
    `<|message|>${LONG} to=get_weather<|message|>`,
  ],
};

/** Answers are watched token by token over so many at their end. */
const WATCHED = 40;

let backend: LlamaBackend;
const opened: LlamaTemplates[] = [];
const prompts: RenderedPrompt[] = [];
beforeAll(async () => {
  backend = await tinyBackend({ cells: 512 });
});
afterAll(() => {
  for (const prompt of prompts) prompt.free();
  for (const template of opened) template.close();
  backend.close();
});

function render(name: string): RenderedPrompt {
  const source = templates.type === "found" ? templates.sources.get(name) : undefined;
  if (source === undefined) throw new Error(`llama.cpp has no template ${name}`);
  const template = new LlamaTemplates(native(), backend.modelHandle, {
    vocabulary: backend.vocabulary,
    source,
    media: undefined,
  });
  opened.push(template);
  const pending = template.render(PROMPT);
  let prompt: RenderedPrompt | undefined;
  while (prompt === undefined) prompt = pending.take(5000);
  prompts.push(prompt);
  return prompt;
}

/** The patterns of a prompt's format, by the shim's own account. */
function patternsOf(prompt: RenderedPrompt): RegExp[] {
  const { handle } = prompt as RenderedPrompt & { readonly handle: bigint }; // as rendered prompts of ffi/ have
  const info: unknown = JSON.parse(takeText(native(), native().svc_render_info(handle)));
  const { grammar_triggers: triggers } = info as { grammar_triggers: { type: number; value: string }[] };
  expect(triggers.map(({ type }) => type)).not.toContain(1); // words are another matter
  return triggers.map(({ value }) => new RegExp(value, "u"));
}

function tokenize(text: string): Int32Array {
  const bytes = Buffer.from(text);
  const out = new Int32Array(bytes.length);
  const n = native().svc_tokenize(backend.modelHandle, bytes, bytes.length, out, out.length, 0, 1);
  return out.slice(0, n);
}

function textOf(tokens: Int32Array): string {
  return Buffer.concat(Array.from(tokens, (token) => backend.tokenBytes(token, true))).toString();
}

/** Whether what follows these tokens is held to the grammar: a draw of what no call contains shows it. */
function isHeld(prompt: RenderedPrompt, tokens: Int32Array): boolean {
  const sampler = backend.newSampler({ ...DEFAULT_SAMPLING, temperature: 0 }, new Int32Array(), 1, 0);
  try {
    expect(backend.constrainTools(sampler, prompt, new Int32Array())).toBe(true);
    backend.acceptForced(sampler, tokens);
    return draw(sampler) !== STRANGE;
  } finally {
    backend.freeSampler(sampler);
  }
}

let STRANGE = -1;
beforeAll(() => {
  STRANGE = tokenize("~")[0] ?? -1;
});

function draw(sampler: SamplerHandle): number {
  const logits = new Float32Array(backend.vocabulary);
  logits[STRANGE] = 10;
  return native().svc_sample_logits(sampler, logits, logits.length);
}

describe.skipIf(templates.type === "missing")("the grammar holds from where a pattern is complete", () => {
  for (const [name, answers] of Object.entries(ANSWERS)) {
    test.each(answers.map((answer) => [answer.slice(-60), answer] as const))(`${name}: …%s`, (_, answer) => {
      const prompt = render(name);
      expect(prompt.format.toolGrammar).toBe("start");
      const patterns = patternsOf(prompt);
      const tokens = tokenize(answer);
      const begun = (n: number): boolean => {
        const text = textOf(tokens.subarray(0, n));
        return patterns.some((pattern) => pattern.test(text));
      };
      const watched = Array.from(
        { length: Math.min(WATCHED, tokens.length) },
        (__, i) => tokens.length - i,
      ).toReversed();
      const first = watched.find(begun) ?? Infinity;
      for (const n of watched) {
        expect({ n, held: isHeld(prompt, tokens.subarray(0, n)) }).toEqual({ n, held: n >= first });
      }
    });
  }

  test("a pattern that is no part of its own grammar leaves the answer free instead of failing it", () => {
    const prompt = render("meetkai-functionary-medium-v3.2"); // its pattern begins before what the grammar begins with
    const tokens = tokenize(`all\n${LONG}\n>>>get_weather\n{`);
    expect(patternsOf(prompt).some((pattern) => pattern.test(textOf(tokens)))).toBe(true);
    expect(isHeld(prompt, tokens)).toBe(false);
  });

  test("and what is drawn then is a call", () => {
    const prompt = render("openai-gpt-oss-120b");
    const sampler = backend.newSampler({ ...DEFAULT_SAMPLING, temperature: 0 }, new Int32Array(), 1, 0);
    backend.constrainTools(sampler, prompt, new Int32Array());
    const before = `<|channel|>analysis<|message|>${LONG}<|end|><|start|>assistant<|channel|>commentary to`;
    backend.acceptForced(sampler, tokenize(before));
    const drawn = Int32Array.from({ length: 12 }, () => draw(sampler));
    backend.freeSampler(sampler);
    expect("=functions.get_weather").toStartWith(textOf(drawn).slice(0, "=functions.get_weather".length));
  });
});

if (templates.type === "missing") console.log(`skipped: no chat templates (${templates.reason})`);
