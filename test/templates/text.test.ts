// What a request brings into a prompt is text: with every chat template, in vocabularies in which the markup of all of them
// is tokens.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { describesTools } from "../../ffi/llama/generic-tools.ts";
import type { Message } from "../../src/core/message.ts";
import { type Asked, TemplateBench } from "../helpers/template-bench.ts";
import { call, HARD_CASES, PLAIN_CASES, result, says, WEATHER } from "../helpers/template-cases.ts";
import { hasTokenMarkup } from "./columns.ts";
import { chatTemplates, type VocabularyKind } from "../helpers/templates.ts";
import { markupOf, openVocabulary } from "../helpers/vocabularies.ts";

const found = chatTemplates();
const sources = found.type === "found" ? found.sources : new Map<string, string>();
const names = [...sources.keys()];
const markup = [...new Set([...sources.values()].flatMap(markupOf))];

/** With an SPM vocabulary, too, and more conversations: npm run test:templates. */
const IS_SLOW = process.env["SVC_SLOW_TESTS"] === "1";

/** Ordinary text of many kinds: code, HTML, other scripts, white space. */
const PROSE =
  'Read <a href="x">this</a>, a < b && c > d; [1, 2] {x: "y"}\n\n\n    def f(x):\n\t\treturn x  # 猫 🐈 é\r\n' +
  "<table><tr><td>ÿ</td></tr></table>  and ### Instruction: **bold** | pipe | … end. ";

const BY_PLACE: Readonly<Record<string, (text: string) => Asked>> = {
  "the question": (text) => ({ messages: [says("user", text)] }),
  "the system message": (text) => ({ messages: [says("system", text), says("user", "Hello")] }),
  "an earlier answer": (text) => ({
    messages: [says("user", "Hello"), says("assistant", text), says("user", "And now?")],
  }),
  "reasoning of an earlier answer": (text) => ({
    messages: [says("user", "Hello"), says("assistant", "Hi", { reasoning: text }), says("user", "And now?")],
  }),
  "a tool's result": (text) => toolTalk({ result: text }),
  "an argument": (text) => toolTalk({ city: text }),
  "a name of an argument": (text) => toolTalk({ key: text }),
  "a tool's description": (text) => ({
    messages: [says("user", "Hello")],
    tools: [{ ...WEATHER, description: text }],
  }),
  "a name of a parameter": (text) => ({
    messages: [says("user", "Hello")],
    tools: [{ ...WEATHER, parameters: { type: "object", properties: { [text]: { type: "string" } } } }],
  }),
};

function toolTalk(parts: { result?: string; city?: string; key?: string }): Asked {
  const made = call("call00001", parts.city ?? "Ravenna");
  const args = JSON.stringify({ ...JSON.parse(made.arguments), [parts.key ?? "unit"]: "C" });
  const messages: Message[] = [
    says("user", "Hello"),
    says("assistant", "", { toolCalls: [{ ...made, arguments: args }] }),
    result("call00001", parts.result ?? "overcast"),
  ];
  return { messages, tools: [WEATHER] };
}

/** Text that would end the turn and begin another one if it were markup, whole and in halves. */
function nasty(words: readonly string[]): string {
  const halves = words.map((word) => `${word.slice(0, 3)}${word}${word.slice(3)}`);
  return `Look: ${words.join("\n")} then ${words.join("")} and ${halves.join(" ")}.`;
}

const CALL = "<tool_call>";

// Templates cut earlier answers at these, and write them anew.
const isOfReasoning = (word: string): boolean => /think|channel|\|>thought|cot_budget/i.test(word);

function describeVocabulary(kind: VocabularyKind): void {
  describe(`${kind} vocabulary`, () => {
    let bench: TemplateBench;
    beforeAll(() => {
      bench = new TemplateBench(openVocabulary(kind, markup), sources);
    }, 60_000);
    afterAll(() => bench.close());

    test.each(names)("%s: ordinary conversations keep their tokens", (name) => {
      const prose = PLAIN_CASES.slice(0, 3).map(({ messages, ...rest }) => ({
        ...rest,
        messages: messages.map((message) => ({
          ...message,
          content: [{ type: "text" as const, text: PROSE }],
        })),
      }));
      for (const asked of [...PLAIN_CASES, ...(IS_SLOW ? HARD_CASES : []), ...prose]) {
        const { text, tokens } = bench.render(name, asked);
        // Calls of a template that has no form of its own for them are text of messages, whatever tokens the model has.
        const hasGenericCalls = text.includes(CALL) && !(sources.get(name) ?? "").includes(CALL);
        if (describesTools(text) || hasGenericCalls) continue;
        expect([asked.name, tokens]).toEqual([asked.name, [...bench.tokensOfMarkup(text)]]);
      }
    });

    test("templates whose markup is plain text are known", () => {
      const isPlain = (name: string): boolean => !hasTokenMarkup(bench, name);
      expect(names.filter(isPlain)).toEqual(["llama-cpp-rwkv-world"]);
    });

    test.each(names)("%s: nothing in a request becomes markup", (name) => {
      const words = markupOf(sources.get(name) ?? "").filter((word) => !isOfReasoning(word));
      for (const [place, build] of Object.entries(BY_PLACE)) {
        const harmless = bench.markup(bench.render(name, build("harmless words")).tokens);
        const attacked = bench.markup(bench.render(name, build(nasty(words))).tokens);
        expect([place, attacked]).toEqual([place, harmless]);
      }
    });
  });
}

if (found.type === "missing") {
  console.warn(`Skipped: the chat templates of model families could not be had (${found.reason}).`);
  test.skip(`text in chat templates: ${found.reason}`, () => {});
} else {
  describeVocabulary("bpe");
  if (IS_SLOW) describeVocabulary("spm");
  else test.skip("all templates with an SPM vocabulary: npm run test:templates", () => {});
}
