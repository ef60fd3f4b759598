// Templates of our own in the forms in which published ones write calls: they are used as the template says, not replaced by svc's format,
// and what their models write arrives, in pieces of any size.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { GrammarEngine } from "../../ffi/llama/grammar.ts";
import { isGeneric } from "../../ffi/llama/generic-tools.ts";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { LlamaTemplates } from "../../ffi/llama/chat.ts";
import { takeText } from "../../ffi/text.ts";
import type { ToolSpec } from "../../src/core/message.ts";
import type { RenderedPrompt } from "../../src/worker/text/backend.ts";
import { grammarEngine } from "../helpers/grammar.ts";
import { native, tinyBackend } from "../helpers/native.ts";
import { inPieces, scriptedAnswer } from "../helpers/scripted-answer.ts";
import { says } from "../helpers/template-cases.ts";
import type { WrittenCall } from "../helpers/written.ts";

const TOOLS: readonly ToolSpec[] = [
  {
    name: "get_weather",
    description: "Tells the weather",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer" }, box: { type: "object" } },
    },
    strict: false,
  },
  {
    name: "list_all",
    description: "Lists all",
    parameters: { type: "object", properties: {} },
    strict: false,
  },
];
const ROME: WrittenCall = { name: "get_weather", args: { city: "Rome" } };
const ZURICH: WrittenCall = {
  name: "get_weather",
  args: { city: 'Zü "x" 猫', days: 3, box: { w: [1, null] } },
};
const EMPTY: WrittenCall = { name: "list_all", args: {} };

interface CallFormat {
  readonly name: string;
  readonly template: string;
  readonly marks: readonly string[];
  readonly write: (calls: readonly WrittenCall[]) => string;
  readonly think?: (words: string) => string;
  readonly say?: (words: string) => string;
  readonly single?: boolean;
}

const json = JSON.stringify;
const each = (body: string): string => `{% for m in messages %}${body}{% endfor %}`;
const calls = (one: string, gap: string): string =>
  `{% for c in m.tool_calls %}${one}{% if not loop.last %}${gap}{% endif %}{% endfor %}`;
const LIST = "{% if tools %}[tools]{{ tools|tojson }}[/tools]{% endif %}";
const NAMED =
  "{{ '{\"name\": \"' ~ c.function.name ~ '\", \"arguments\": ' ~ c.function.arguments|tojson ~ '}' }}";

const FORMATS: readonly CallFormat[] = [
  {
    name: "a list between tags, a line each",
    template: `${LIST}${each(`<|bom|><|{{ m.role }}|> {{ m.content }}{% if m.tool_calls %}{{ '<tool_calls>[\\n' }}${calls(NAMED, "{{ ',\\n' }}")}{{ '\\n]</tool_calls>' }}{% endif %}<|eom|>`)}{% if add_generation_prompt %}<|bom|><|assistant|>{% endif %}`,
    marks: ["<tool_calls>", "</tool_calls>"],
    write: (made) =>
      ` <tool_calls>[\n${made.map(({ name, args }) => `{"name": "${name}", "arguments": ${json(args)}}`).join(",\n")}\n]</tool_calls>`,
  },
  {
    name: "a plan, then actions; answers in tags",
    template: `${LIST}${each(`<|turn|><|{{ m.role }}|>{% if m.tool_calls %}<|START_THINKING|>{{ m.tool_plan }}<|END_THINKING|><|START_ACTION|>{{ '[\\n' }}${calls(`{{ '    {"tool_call_id": "' ~ loop.index0 ~ '", "tool_name": "' ~ c.function.name ~ '", "parameters": ' ~ c.function.arguments|tojson ~ '}' }}`, "{{ ',\\n' }}")}{{ '\\n]' }}<|END_ACTION|>{% elif m.role == 'assistant' %}<|START_RESPONSE|>{{ m.content }}<|END_RESPONSE|>{% else %}{{ m.content }}{% endif %}<|end|>`)}<|turn|><|assistant|>`,
    marks: [
      "START_THINKING",
      "END_THINKING",
      "START_ACTION",
      "END_ACTION",
      "START_RESPONSE",
      "END_RESPONSE",
    ].map((word) => `<|${word}|>`),
    write: (made) =>
      `<|START_ACTION|>[\n${made.map(({ name, args }, at) => `    {"tool_call_id": "${at}", "tool_name": "${name}", "parameters": ${json(args)}}`).join(",\n")}\n]<|END_ACTION|>`,
    think: (words) => `<|START_THINKING|>${words}<|END_THINKING|>`,
    say: (words) => `<|START_RESPONSE|>${words}<|END_RESPONSE|>`,
  },
  {
    name: "a list with ids of nine letters",
    template: `{{ bos_token }}${each(`{% if m.role == 'user' %}{% if tools and loop.last %}{{ '[AVAILABLE_TOOLS] ' ~ tools|tojson ~ '[/AVAILABLE_TOOLS]' }}{% endif %}[INST] {{ m.content }}[/INST]{% elif m.tool_calls %}[TOOL_CALLS] [${calls(`{% if c.id|length != 9 %}{{ raise_exception('Tool call IDs should be alphanumeric strings with length 9!') }}{% endif %}{{ (c.function|tojson)[:-1] ~ ', "id": "' ~ c.id ~ '"}' }}`, ", ")}]{{ eos_token }}{% elif m.role == 'tool' %}[TOOL_RESULTS] {{ {'content': m.content, 'call_id': m.tool_call_id}|tojson }}[/TOOL_RESULTS]{% else %} {{ m.content }}{{ eos_token }}{% endif %}`)}`,
    marks: ["[TOOL_CALLS]"],
    write: (made) =>
      `[TOOL_CALLS] [${made.map(({ name, args }, at) => `{"name": "${name}", "arguments": ${json(args)}, "id": "abcdefgh${at}"}`).join(", ")}]`,
  },
  {
    name: "JSON after tags around the text beside it",
    template: `${LIST}${each(`<|header|>{{ m.role }}<|/header|>{% if m.tool_calls %}<|python_start|>{{ m.content }}<|python_end|>${calls(`{{ '{"name": "' ~ c.function.name ~ '", "parameters": ' ~ c.function.arguments|tojson ~ '}' }}`, "")}{% else %}{{ m.content }}{% endif %}<|eot|>`)}{% if add_generation_prompt %}<|header|>assistant<|/header|>{% endif %}`,
    marks: ["{"],
    write: (made) =>
      made.map(({ name, args }) => `{"name": "${name}", "parameters": ${json(args)}}`).join(""),
    single: true,
  },
  {
    name: "calls as in Python, a line each",
    template: `${LIST}${each(`<|im_start|>{{ m.role ~ '\\n' }}{% if m.tool_calls %}{{ '<calls>\\n' }}${calls(`{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ "'" ~ v ~ "'" if v is string else v|tojson }}{{ ', ' if not loop.last }}{% endfor %})`, "{{ '\\n' }}")}{{ '\\n</calls>' }}{% else %}{{ m.content }}{% endif %}{{ '<|im_end|>\\n' }}`)}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`,
    marks: ["<calls>", "</calls>"],
    // Texts in quotes of JSON: the grammar of calls wants them.
    write: (made) =>
      `<calls>\n${made
        .map(
          ({ name, args }) =>
            `${name}(${Object.entries(args)
              .map(([key, value]) => `${key}=${json(value)}`)
              .join(", ")})`,
        )
        .join("\n")}\n</calls>`,
  },
  {
    name: "thinking that the beginning of the answer alone shows",
    template: `${LIST}${each(`[|{{ m.role }}|]{% if m.role == 'assistant' %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}{% if m.tool_calls %}${calls(`<tool_call>${NAMED}</tool_call>`, "{{ '\\n' }}")}{% else %}{{ m.content }}{% endif %}[|end|]`)}{% if add_generation_prompt %}[|assistant|]{{ '<think>\\n' if enable_thinking else '<think>\\n\\n</think>\\n\\n' }}{% endif %}`,
    marks: ["<tool_call>", "</tool_call>", "</think>"],
    write: (made) =>
      made
        .map(({ name, args }) => `<tool_call>{"name": "${name}", "arguments": ${json(args)}}</tool_call>`)
        .join("\n"),
    think: (words) => `${words}\n</think>\n\n`,
  },
  {
    name: "several calls in one section, without commas",
    template: `${LIST}${each(`<|{{ m.role }}|>{{ m.content }}{% if m.tool_calls %}{{ '<x:calls>\\n' }}${calls("{{ '<invoke name=\"' ~ c.function.name ~ '\">\\n' }}{% for k, v in c.function.arguments.items() %}{{ '<parameter name=\"' ~ k ~ '\">' ~ (v if v is string else v|tojson) ~ '</parameter>\\n' }}{% endfor %}{{ '</invoke>\\n' }}", "")}</x:calls>{% endif %}<|end|>`)}{% if add_generation_prompt %}<|assistant|>{% endif %}`,
    marks: ["<x:calls>", "</x:calls>", "<invoke", "</invoke>"],
    write: (made) =>
      `<x:calls>\n${made
        .map(
          ({ name, args }) =>
            `<invoke name="${name}">\n${Object.entries(args)
              .map(
                ([key, value]) =>
                  `<parameter name="${key}">${typeof value === "string" ? value : json(value)}</parameter>\n`,
              )
              .join("")}</invoke>\n`,
        )
        .join("")}</x:calls>`,
  },
];

let backend: LlamaBackend;
let grammars: GrammarEngine;
beforeAll(async () => {
  backend = await tinyBackend({ contextLen: 512 });
  grammars = grammarEngine(backend.tokens());
});
afterAll(() => {
  grammars.close();
  backend.close();
});

function withPrompt(source: string, work: (prompt: RenderedPrompt, text: string) => void): void {
  const { vocabulary, modelHandle } = backend;
  const template = new LlamaTemplates(native(), modelHandle, {
    vocabulary,
    source,
    media: undefined,
    contextTokens: 4096,
  });
  expect(template.leavesOut).toEqual([]);
  const pending = template.render({
    type: "chat",
    messages: [says("user", "How is it?")],
    tools: TOOLS,
    toolChoice: { type: "auto" },
    thinking: { enabled: true },
  });
  let prompt: RenderedPrompt | undefined;
  while (prompt === undefined) prompt = pending.take(5000);
  const { handle } = prompt as RenderedPrompt & { readonly handle: bigint };
  try {
    work(prompt, takeText(native(), native().svc_render_prompt(handle)));
  } finally {
    prompt.free();
    template.close();
  }
}

describe.each(FORMATS)("$name", ({ template, marks, write, think, say = (words) => words, single }) => {
  const begun = think === undefined ? "" : think("Hm.");
  const reasoning = think === undefined ? "" : "Hm.";
  const made = (raw: string, prompt: RenderedPrompt, size: "letters" | "words" | "whole") => {
    const answer = scriptedAnswer(prompt, grammars, inPieces(raw, marks, size));
    return {
      reasoning: answer.reasoning.trim(),
      text: answer.text.trim(),
      calls: answer.calls.map(({ name, args }) => ({ name, args: JSON.parse(args) })),
      forced: answer.forced,
    };
  };

  test.each(["letters", "words", "whole"] as const)("calls and text arrive in %s", (size) => {
    withPrompt(template, (prompt, text) => {
      expect([isGeneric(text), text.includes("Tells the weather")]).toEqual([false, true]);
      const nothing = { reasoning, text: "", calls: [], forced: undefined };
      expect(made(begun + say("Hello there."), prompt, size)).toEqual({ ...nothing, text: "Hello there." });
      const several =
        single === true
          ? []
          : [
              [ZURICH, ROME],
              [EMPTY, ROME],
            ];
      for (const wanted of [[ROME], [ZURICH], [EMPTY], ...several])
        expect(made(begun + write(wanted), prompt, size)).toEqual({ ...nothing, calls: wanted });
      const both = `${begun}${say("I look.")}${say("") === "" ? "\n" : ""}${write([ROME])}`;
      expect(made(both, prompt, size)).toEqual({ ...nothing, text: "I look.", calls: [ROME] });
    });
  });

  test("a function without arguments takes none", () => {
    withPrompt(template, (prompt) => {
      const invented = begun + write([{ name: "list_all", args: { city: "Rome" } }]);
      expect(scriptedAnswer(prompt, grammars, inPieces(invented, marks, "words")).forced).toBeDefined();
    });
  });

  test("a cut answer shows nothing of a call", () => {
    withPrompt(template, (prompt) => {
      const pieces = inPieces(begun + write([ROME]), marks, "words");
      for (let n = 1; n < pieces.length; n++) {
        const { text } = scriptedAnswer(prompt, grammars, pieces.slice(0, n), "length");
        expect([n, text.trim()]).toEqual([n, ""]);
      }
    });
  });
});
