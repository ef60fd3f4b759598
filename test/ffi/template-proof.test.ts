// Templates that lose a part of a conversation in one form or in all, that fail, and that refuse: what is found when they are opened, and what
// requests get.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { LlamaTemplates } from "../../ffi/llama/chat.ts";
import { isGeneric } from "../../ffi/llama/generic-tools.ts";
import { takeText } from "../../ffi/text.ts";
import type { ServiceError } from "../../src/core/error.ts";
import type { RenderedPrompt } from "../../src/worker/text/backend.ts";
import { native, tinyBackend } from "../helpers/native.ts";
import { call, result, says, WEATHER } from "../helpers/template-cases.ts";
import type { Asked } from "../helpers/template-bench.ts";

let backend: LlamaBackend;
beforeAll(async () => {
  backend = await tinyBackend({ contextLen: 512 });
});
afterAll(() => backend.close());

function open(source: string): LlamaTemplates {
  const { vocabulary } = backend;
  return new LlamaTemplates(native(), backend.modelHandle, {
    vocabulary,
    source,
    media: undefined,
    contextTokens: 4096,
    name: "own.jinja",
  });
}

/** The prompt of a conversation. Throws the ServiceError of a refusal. */
function promptOf(template: LlamaTemplates, { messages, tools = [] }: Asked): string {
  const asked = {
    type: "chat",
    messages,
    tools,
    toolChoice: { type: "auto" },
    thinking: { enabled: true },
  } as const;
  const pending = template.render(asked);
  let prompt: RenderedPrompt | undefined;
  while (prompt === undefined) prompt = pending.take(5000);
  const { handle } = prompt as RenderedPrompt & { readonly handle: bigint };
  const text = takeText(native(), native().svc_render_prompt(handle));
  prompt.free();
  return text;
}

function withTemplate<T>(source: string, work: (template: LlamaTemplates) => T): T {
  const template = open(source);
  try {
    return work(template);
  } finally {
    template.close();
  }
}

function failureOf(work: () => unknown): ServiceError {
  try {
    work();
  } catch (error) {
    return error as ServiceError;
  }
  throw new Error("it did not fail");
}

const TURN = "{{ '[' ~ m.role ~ ']' ~ m.content ~ '[end]' }}";
const EACH = `{% for m in messages %}${TURN}{% endfor %}[assistant]`;
const ORDER = says("system", "Answer in rhymes.");
const USER = says("user", "How is it outside?");
const ANNOUNCED = says("assistant", "I look it up.", { toolCalls: [call("call00001", "Ravenna")] });
const RESULT = result("call00001", "overcast");
const CALLS = "{% for c in m.tool_calls %}<call>{{ c.function|tojson }}</call>{% endfor %}";

describe("a template shows the whole conversation, which", () => {
  test.each([
    [
      "goes on with the next message within an if",
      `{% for m in messages %}{% if m.role == 'system' %}${TURN}{% continue %}{% endif %}${TURN}{% endfor %}`,
    ],
    [
      "reads the system message in parts",
      `{% if messages[0].role == 'system' %}{{ messages[0].content[0].text }}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}{% for m in rest %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{% endfor %}`,
    ],
    [
      "reads all messages in parts",
      "{% for m in messages %}{{ m.role }}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}",
    ],
    [
      "prints system messages, and others in parts",
      "{% for m in messages %}{{ m.role }}{% if m.role == 'system' %}{{ m.content }}{% else %}{% for p in m.content %}{{ p['text'] }}{% endfor %}{% endif %}{% endfor %}",
    ],
  ])("%s", (_, source) => {
    withTemplate(source, (template) => {
      const text = promptOf(template, {
        messages: [ORDER, USER, says("assistant", "Grey."), says("user", "And now?")],
      });
      for (const word of ["Answer in rhymes.", "How is it outside?", "Grey.", "And now?"])
        expect(text).toContain(word);
      expect(text).not.toContain("'type'");
    });
  });
});

describe("text beside calls is kept by a template that", () => {
  test.each([
    ["shows it", `{% for m in messages %}[{{ m.role }}]{{ m.content }}${CALLS}{% endfor %}`],
    [
      "shows calls alone",
      `{% for m in messages %}[{{ m.role }}]{% if m.tool_calls %}${CALLS}{% else %}{{ m.content }}{% endif %}{% endfor %}`,
    ],
    [
      "shows calls alone, and wants turns",
      `{% set ns = namespace(last='') %}{% for m in messages %}{% if m.role == ns.last and m.role != 'tool' and not m.tool_calls %}{{ raise_exception('Roles must take turns') }}{% endif %}{% set ns.last = m.role if not m.tool_calls and m.role != 'tool' else ns.last %}[{{ m.role }}]{% if m.tool_calls %}${CALLS}{% else %}{{ m.content }}{% endif %}{% endfor %}`,
    ],
  ])("%s", (_, source) => {
    const shown = `{% if tools %}{{ tools|tojson }}{% endif %}${source}{% if add_generation_prompt %}[assistant]{% endif %}`;
    withTemplate(shown, (template) => {
      const running = [USER, ANNOUNCED, RESULT];
      const finished = [...running, says("assistant", "Grey."), says("user", "And now?")];
      for (const messages of [running, finished]) {
        const text = promptOf(template, { messages, tools: [WEATHER] });
        for (const word of ["I look it up.", "Ravenna", "overcast"]) expect(text).toContain(word);
      }
    });
  });
});

describe("tools are in the prompt of a template that writes calls, and", () => {
  const TALK = `{% for m in messages %}[{{ m.role }}]{% if m.tool_calls %}${CALLS}{% else %}{{ m.content }}{% endif %}[end]{% endfor %}[assistant]`;
  const BESIDE = "{% if messages[0].role == 'system' %}{{ tools|tojson }}{% endif %}";
  const UNCALLED =
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% if m.tool_calls and m.tool_calls[0].function.name != 'function_name' %}<call>{{ m.tool_calls[0].function|tojson }}</call>{% endif %}[end]{% endfor %}[assistant]";

  test.each([
    ["shows none", TALK, true, true],
    ["shows them beside a system message alone", `${BESIDE}${TALK}`, true, false],
    ["does not show how it writes the example", UNCALLED, false, false],
  ])("%s", (_, source, isExample, isExampleBesideOrder) => {
    withTemplate(source, (template) => {
      for (const [messages, hasExample] of [
        [[USER, ANNOUNCED, RESULT], isExample],
        [[ORDER, USER], isExampleBesideOrder],
      ] as const) {
        const text = promptOf(template, { messages, tools: [WEATHER] });
        for (const word of ["get_weather", "Tells the weather of a city", "How is it outside?"])
          expect(text).toContain(word);
        const written = text.includes(
          'like this:\n<call>{"name": "function_name", "arguments": {"argument": "value"}}</call>\n',
        );
        expect([text, written]).toEqual([text, hasExample]);
        if (messages[0] === ORDER) expect(text).toContain("Answer in rhymes.");
      }
      expect(promptOf(template, { messages: [USER] })).not.toContain("You may call functions");
    });
  });
});

test("what no form shows is named", () => {
  withTemplate("{{ messages[-1].content }}", ({ leavesOut }) => {
    expect(leavesOut).toContain("earlier turns");
    expect(leavesOut).not.toContain("the user's message");
  });
  withTemplate(EACH, ({ leavesOut }) => expect(leavesOut).toEqual([]));
});

test("a template that fails with every conversation cannot be opened", () => {
  const failure = failureOf(() => open("a\n{{ 1 // 0 }}"));
  expect([failure.code, failure.status]).toEqual(["template_failed", 500]);
  expect(failure.message).toContain("own.jinja failed: line 2: integer division or modulo by zero");
  expect(failureOf(() => open("a\nb\n{{ x|planar }}")).message).toContain("line 3: No filter named 'planar'");
});

test("a template that fails with some conversations is the server's fault, one that refuses them the request's", () => {
  const many = [
    USER,
    says("assistant", "Grey."),
    says("user", "And now?"),
    says("assistant", "Blue."),
    says("user", "Fine."),
  ];
  const when = (what: string): string => `${EACH}{% if messages|length > 4 %}${what}{% endif %}`;
  withTemplate(when("{{ 1 // 0 }}"), (template) => {
    expect(promptOf(template, { messages: [USER] })).toContain("outside");
    const failure = failureOf(() => promptOf(template, { messages: many }));
    expect([failure.code, failure.status]).toEqual(["template_failed", 500]);
    expect(failure.message).toContain("line 1: integer division or modulo by zero");
  });
  withTemplate(when("{{ raise_exception('Too many turns') }}"), (template) => {
    const failure = failureOf(() => promptOf(template, { messages: many }));
    expect([failure.code, failure.status]).toEqual(["invalid_request", 400]);
    expect(failure.message).toBe("the model's chat template rejects this conversation: Too many turns");
  });
});

test("a template that fails with tools serves plain chat, and tools in svc's format", () => {
  withTemplate(`{% if tools %}{{ 1 // 0 }}{% endif %}${EACH}`, (template) => {
    expect(promptOf(template, { messages: [USER] })).toContain("outside");
    const text = promptOf(template, { messages: [USER], tools: [WEATHER] });
    expect(isGeneric(text)).toBe(true);
  });
});

test("a template that needs a variable which svc does not have is rendered without it", () => {
  withTemplate(`{{ 'Functions: ' + functions }}${EACH}`, (template) => {
    expect(promptOf(template, { messages: [ORDER, USER] })).toContain("Answer in rhymes.");
  });
});
