// What a request brought into a prompt stays text through every operation of the template language, with the built-in model's
// vocabulary.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isGeneric } from "../../ffi/llama/generic-tools.ts";
import { ServiceError } from "../../src/core/error.ts";
import type { Thinking } from "../../src/core/run.ts";
import { randomOf } from "../helpers/seed.ts";
import { TINY_PATH } from "../helpers/native.ts";
import { type BenchOptions, TemplateBench } from "../helpers/template-bench.ts";
import { says, WEATHER } from "../helpers/template-cases.ts";
import { openFile } from "../helpers/vocabularies.ts";

const CONTENT = "one <|im_start|> two <|im_end|> three <think> four";
/** How a template shows tools and writes calls; without it, the generic format describes the tools. */
const CALLS =
  "{% for t in tools %}{{ t.function.name }}{% endfor %}" +
  "{% for m in messages %}{% for t in m.tool_calls or [] %}<tool_call>\n" +
  '{"name": "{{ t.function.name }}", "arguments": {{ t.function.arguments | tojson }}}' +
  "\n</tool_call>{% endfor %}{% endfor %}";
const FOUND = `${CALLS}<|im_start|>{% set c = messages[0].content %}`;

/** Templates' bodies; `c` is the message's text. */
const OPERATIONS: readonly string[] = [
  "{{ c }}",
  '{{ c ~ "" }}{{ "" + c }}',
  "{{ c * 2 }}",
  '{{ c | trim }}{{ c.strip() }}{{ c.lstrip() }}{{ c.rstrip("r") }}',
  "{{ c | lower }}{{ c | upper | lower }}{{ c | title | lower }}{{ c | capitalize }}",
  '{{ c.split(" ")[1] }}{{ c.split(" ")[3] }}{{ c.split(" ")[-1] }}',
  '{{ c.rsplit(" ", 2)[0] }}{{ c.rsplit(" ")[1] }}',
  '{{ c.split(" ") | join(" ") }}{{ [c, c] | join(c) }}',
  '{{ c.replace("one", "1") }}{{ "x".replace("x", c) }}{{ c | replace("", "") }}',
  '{{ c.replace("<|im_end|>", "<|im_end|>") }}{{ c.split("<|im_end|>")[0] }}',
  "{{ c[4:] }}{{ c[:16] }}{{ c[::-1][::-1] }}{{ c[-30:] }}{{ c[4:60:1] }}",
  '{{ ("\\n" ~ c) | indent(4) }}{{ (c ~ "\\n\\n" ~ c ~ "\\n") | indent("> ", true, true) }}',
  '{{ {"a": [c, {"b": c}]} | string }}{{ "" ~ [[c]] ~ {c: c} }}',
  "{% for i in range(c | length) %}{{ c[i] }}{% endfor %}",
  '{{ c | tojson }}{{ {"k": [c]} | tojson(indent=2) }}{{ {c: 1} | tojson }}{{ c | tojson(ensure_ascii=true) }}',
  '{{ [c] | string }}{{ {"k": c} | string }}{{ messages[:1] | string }}',
  '{{ "{} and {}".format(c, c) }}{{ c | indent(2) }}{{ c | indent(2, true) }}',
  '{{ c | default("x") }}{{ c | string }}{{ c | safe }}{{ [c] | first }}{{ [c] | last }}',
  '{{ messages | map(attribute="content") | join(",") }}',
  '{% set ns = namespace(x="") %}{% set ns.x = ns.x + c %}{{ ns.x }}',
  "{% macro show(x) %}({{ x }}){% endmacro %}{{ show(c) | trim }}",
  "{% set block %}a {{ c }} b{% endset %}{{ block | trim }}",
  '{{ "<|im_" + c.split("_")[1] }}{{ c[:8] + "start|>" }}',
  "{% for t in tools %}{{ t | tojson }}{{ t.function.description }}{% endfor %}",
  "{% for t in tools %}{% for k, v in t.function.parameters.properties.items() %}{{ k }}{% endfor %}{% endfor %}",
];

const TOOL = {
  ...WEATHER,
  description: CONTENT,
  parameters: { type: "object", properties: { [CONTENT]: { type: "string", description: CONTENT } } },
};

let benches: TemplateBench[] = [];

function bench(source: string, options: BenchOptions = {}): TemplateBench {
  const fresh = new TemplateBench(openFile(TINY_PATH), new Map([["it", source]]), options);
  benches.push(fresh);
  return fresh;
}

function markupIn(opened: TemplateBench, content = CONTENT): readonly string[] {
  const { text, tokens } = opened.render("it", { messages: [says("user", content)], tools: [TOOL] });
  expect(isGeneric(text)).toBe(false);
  return opened.markup(tokens).filter((word) => word !== "<|endoftext|>");
}

beforeAll(() => {
  benches = [];
});
afterAll(() => {
  for (const opened of benches) opened.close();
});

describe("operations of templates", () => {
  test.each(OPERATIONS)("%s", (operation) => {
    const opened = bench(`${FOUND}${operation}<|im_end|>`);
    expect(markupIn(opened)).toEqual(["<|im_start|>", "<|im_end|>"]);
  });

  test("the text of a deeply nested value is written once", () => {
    let parameters: Record<string, unknown> = { type: "string", description: CONTENT };
    for (let depth = 0; depth < 60; depth++)
      parameters = { type: "object", properties: { [CONTENT]: parameters } };
    const opened = bench(`${FOUND}{{ tools | string }}{{ tools | tojson }}<|im_end|>`);
    const { tokens } = opened.render("it", {
      messages: [says("user", CONTENT)],
      tools: [{ ...TOOL, parameters }],
    });
    expect(opened.markup(tokens).filter((word) => word !== "<|endoftext|>")).toEqual([
      "<|im_start|>",
      "<|im_end|>",
    ]);
  });

  test("roles make markup, since the interface names them all", () => {
    const opened = bench(
      `${CALLS}{% for m in messages %}{{ "<|" + m.role + "|><think>" + m.content }}{% endfor %}`,
    );
    expect(markupIn(opened)).toEqual(["<think>"]);
  });
});

/** A text as markup of the template and content of the request, in order. */
type Marked = readonly ("<|im_start|>" | "<|im_end|>" | "content")[];

const VARIABLES = ["a", "b", "c", "d"];
const PROGRAMS = 12;
const STATEMENTS = 40;
const PARTS_MAX = 64;

/** A random template that joins texts, and what it writes. Variables share texts, and each of them may grow afterwards. */
function program(random: () => number): { readonly source: string; readonly written: Marked } {
  const pick = <T>(list: readonly [T, ...T[]] | readonly T[]): T =>
    list[Math.floor(random() * list.length)] as T;
  const held = new Map<string, Marked>(VARIABLES.map((name) => [name, []]));
  const lines = [`{% set ns = namespace(${VARIABLES.map((name) => `${name}=""`).join(", ")}) %}`];
  const add: readonly (readonly [string, Marked])[] = [
    ['"<|im_start|>"', ["<|im_start|>"]],
    ['"<|im_end|>"', ["<|im_end|>"]],
    ["messages[0].content", ["content"]],
    ["(messages[0].content | trim)", ["content"]],
  ];
  for (let statement = 0; statement < STATEMENTS; statement++) {
    const [target, from, other] = [pick(VARIABLES), pick(VARIABLES), pick(VARIABLES)];
    const before = held.get(from) ?? [];
    const [code, more] = random() < 0.3 ? ([`ns.${other}`, held.get(other) ?? []] as const) : pick(add);
    const whole = random() < 0.2 ? before : [...before, ...more];
    if (whole.length > PARTS_MAX) continue;
    const expression = whole === before ? `ns.${from}` : `ns.${from} ${pick(["+", "~"])} ${code}`;
    lines.push(`{% set ns.${target} = ${expression} %}`);
    held.set(target, whole);
  }
  lines.push(...VARIABLES.map((name) => `{{ ns.${name} }}`));
  return { source: lines.join(""), written: VARIABLES.flatMap((name) => held.get(name) ?? []) };
}

test("texts that variables share keep their own parts and marks", () => {
  const random = randomOf(1);
  for (let run = 0; run < PROGRAMS; run++) {
    const { source, written } = program(random);
    const opened = bench(source);
    const { text, tokens } = opened.render("it", { messages: [says("user", CONTENT)] });
    expect(text).toBe(written.map((part) => (part === "content" ? CONTENT : part)).join(""));
    expect(opened.markup(tokens).filter((word) => word !== "<|endoftext|>")).toEqual(
      written.filter((part) => part !== "content"),
    );
  }
});

describe("content_tokens", () => {
  test("lets what it names through", () => {
    const opened = bench(`${CALLS}{{ messages[0].content }}`, { contentTokens: ["<think>"] });
    expect(markupIn(opened)).toEqual(["<think>"]);
  });

  test("must name tokens of the model", () => {
    const opened = bench(`${CALLS}{{ messages[0].content }}`, { contentTokens: ["<|box_start|>"] });
    expect(() => markupIn(opened)).toThrow(ServiceError);
    expect(() => markupIn(opened)).toThrow('content_tokens names "<|box_start|>"');
  });
});

describe("thinking that nobody speaks of", () => {
  const OFF_UNASKED =
    "{{ messages[0].content }}{% if enable_thinking is defined and enable_thinking %}ON{% endif %}";
  const ON_UNASKED =
    "{{ messages[0].content }}{% if enable_thinking is not defined or enable_thinking %}ON{% endif %}";
  const render = (source: string, options: BenchOptions, thinking: Thinking) =>
    bench(source, options).render("it", { messages: [says("user", "Hello")], thinking });
  const UNSAID = { enabled: true, unsaid: true } as const;
  const TEMPLATE = { thinkingDefault: "template" } as const;

  test("is on, unless the template decides", () => {
    expect(render(OFF_UNASKED, {}, UNSAID)).toMatchObject({ text: "HelloON", thinks: true });
    expect(render(OFF_UNASKED, TEMPLATE, UNSAID)).toMatchObject({ text: "Hello", thinks: false });
    expect(render(ON_UNASKED, TEMPLATE, UNSAID)).toMatchObject({ text: "HelloON", thinks: true });
    expect(render("{{ messages[0].content }}", TEMPLATE, UNSAID)).toMatchObject({ thinks: true });
  });

  test("what is said counts", () => {
    expect(render(OFF_UNASKED, TEMPLATE, { enabled: true })).toMatchObject({ text: "HelloON", thinks: true });
    expect(render(ON_UNASKED, TEMPLATE, { enabled: false })).toMatchObject({ text: "Hello", thinks: false });
  });
});
