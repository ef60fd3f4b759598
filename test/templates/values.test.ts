// Values that templates get: their JSON, and lists of tools that are kept from request to request.

import { afterAll, expect, test } from "bun:test";
import type { Message, ToolSpec } from "../../src/core/message.ts";
import { randomOf } from "../helpers/seed.ts";
import { TINY_PATH } from "../helpers/native.ts";
import { TemplateBench } from "../helpers/template-bench.ts";
import { call, result, says, WEATHER } from "../helpers/template-cases.ts";
import { openFile } from "../helpers/vocabularies.ts";

/** Without it, the generic format describes the tools. */
const CALLS =
  "{% for m in messages %}{% for t in m.tool_calls or [] %}<tool_call>\n" +
  '{"name": "{{ t.function.name }}", "arguments": {{ t.function.arguments | tojson }}}' +
  "\n</tool_call>{% endfor %}{% endfor %}";
const HELLO: readonly Message[] = [says("user", "Hello")];

const benches: TemplateBench[] = [];
afterAll(() => {
  for (const opened of benches) opened.close();
});

function bench(body: string): TemplateBench {
  const fresh = new TemplateBench(openFile(TINY_PATH), new Map([["it", CALLS + body]]));
  benches.push(fresh);
  return fresh;
}

/** Random JSON of ASCII, without DEL, which ensure_ascii escapes as Python does. */
function json(random: () => number, depth = 0): unknown {
  const below = (n: number): number => Math.floor(random() * n);
  const text = (): string =>
    Array.from({ length: below(12) }, () => String.fromCodePoint(below(127))).join("");
  const items = <T>(one: (index: number) => T): T[] => Array.from({ length: below(4) }, (_, i) => one(i));
  const kinds = [
    () => text().replaceAll("\0", ""),
    () => below(2_000_000) - 1_000_000,
    () => (below(2000) - 1000) / 64,
    () => random() < 0.5,
    () => null,
    () => items(() => json(random, depth + 1)),
    () => Object.fromEntries(items((i) => [`${text().replaceAll("\0", "")}${i}`, json(random, depth + 1)])),
  ];
  return kinds[below(depth > 4 ? 5 : kinds.length)]?.();
}

test("JSON is as the template engine writes it", () => {
  // With ensure_ascii the engine writes it: the same, since the text is ASCII.
  const options = [
    "",
    "indent=0",
    "indent=3",
    'separators=(",", ":")',
    'indent=2, separators=(" , ", " : ")',
  ];
  const both = options.map((option) => {
    const more = option === "" ? "" : `, ${option}`;
    return `{{ tools | tojson(${option}) }}<|im_end|>{{ tools | tojson(ensure_ascii=true${more}) }}`;
  });
  const opened = bench(both.join("<|im_start|>"));
  const random = randomOf(7);
  for (let run = 0; run < 20; run++) {
    const values = Object.fromEntries(
      Array.from({ length: 5 }, (_, i) => [`v${i}`, { default: json(random) }]),
    );
    const tools = [{ ...WEATHER, parameters: { type: "object", properties: values } }];
    const { text } = opened.render("it", { messages: HELLO, tools });
    for (const pair of text.split("<|im_start|>")) {
      const [own, engine] = pair.split("<|im_end|>");
      expect(own?.length).toBeGreaterThan(100);
      expect(own).toBe(engine ?? "");
    }
  }
});

test("what one request appends to texts of the template or the tools is not in the next", () => {
  const opened = bench(
    "{{ '<s>' ~ messages[0].content }}{{ '<t>' + messages[0].content }}" +
      "{% for t in tools %}{{ t.function.name ~ messages[0].content }}{% endfor %}",
  );
  const asked = (text: string): string =>
    opened.render("it", { messages: [says("user", text)], tools: [WEATHER] }).text;
  const first = asked("Secret");
  expect(first).toContain("<s>Secret<t>Secret");
  expect(asked("Other")).toBe(first.replaceAll("Secret", "Other"));
  expect(asked("Secret")).toBe(first);
});

test("arguments that are nested too deep are shown as a text", () => {
  const opened = bench("{% for m in messages %}{{ m.content }}{% endfor %}{{ tools | tojson }}");
  const deep = (n: number): string => `{"a": ${"[".repeat(n)}${"]".repeat(n)}}`;
  const asked = (n: number): string => {
    const toolCalls = [{ ...call("call00001", "Ravenna"), arguments: deep(n) }];
    const messages = [...HELLO, says("assistant", "", { toolCalls }), result("call00001", "Overcast")];
    return opened.render("it", { messages, tools: [WEATHER] }).text;
  };
  expect(asked(20)).toContain('{"a": [[[');
  expect(asked(100_000).includes(String.raw`"{\"a\": [[[`)).toBe(true);
});

test("a template that changes its tools gets them unchanged in the next request", () => {
  const changes = [
    "{% for t in tools %}{% set t.seen = true %}{% endfor %}",
    "{% for t in tools %}{% set f = t.function %}{% set f.name = 'other' %}{% endfor %}",
    "{% set _ = tools.append(1) %}",
    "{% for t in tools %}{% set _ = t.function.parameters.required.append('more') %}{% endfor %}",
  ];
  for (const count of [1, 40, 400]) {
    const tools: ToolSpec[] = Array.from({ length: count }, (_, i) => ({ ...WEATHER, name: `tool_${i}` }));
    for (const change of changes) {
      const opened = bench(`${change}{{ tools | tojson }}{{ messages[0].content }}`);
      const asked = (text: string): string => {
        return opened.render("it", { messages: [says("user", text)], tools }).text;
      };
      const first = asked("Hello");
      expect(first).not.toBe(
        bench(`{{ tools | tojson }}{{ messages[0].content }}`).render("it", { messages: HELLO, tools }).text,
      );
      expect(asked("Hello")).toBe(first);
      expect(asked("Bye")).toBe(first.replace("Hello", "Bye"));
    }
  }
});
