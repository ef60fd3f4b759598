// The output parser against a small parser of our own in place of llama.cpp's: <think>…</think> then text, with
// <tool_call>{json}</tool_call> anywhere after it.

import { describe, expect, test } from "bun:test";
import type { OutputFormat, ParsedMessage, RenderedPrompt } from "../../src/worker/backend.ts";
import { type OutputDelta, OutputParser } from "../../src/worker/output-parser.ts";

const FORMAT: OutputFormat = {
  thinkingStart: "<think>",
  thinkingStartTokens: new Int32Array(),
  thinkingEnds: ["</think>"],
  startsInReasoning: false,
  toolMarkers: ["<tool_call>"],
  toolMarkerTokens: new Int32Array(),
  toolGrammar: "marker",
  callMarker: new Int32Array(),
  stops: [],
  visibleTokens: new Set(),
  markup: ["<think>", "</think>", "<tool_call>", "</tool_call>"],
};

/** Reads the toy format; counts how many characters it was given in all. */
class ToyPrompt implements RenderedPrompt {
  readonly tokens = new Int32Array();
  readonly format = FORMAT;
  readonly plain = false;
  charsRead = 0;

  parse(text: string): ParsedMessage | undefined {
    this.charsRead += text.length;
    const cut = text.replace(/<[a-z_/]*$/, "");
    const [, reasoning = "", rest = ""] = /^(?:<think>([^]*?)(?:<\/think>|$))?([^]*)$/.exec(cut) ?? [];
    const [content = "", ...calls] = rest.split("<tool_call>");
    const toolCalls = calls.map((call) => {
      const body = call.replace(/<\/tool_call>\s*$/, "");
      const [, name = "", args = ""] = /^\{"name": "([a-z]+)", "arguments": ([^]*?)\}?$/.exec(body) ?? [];
      return { id: "", name, arguments: args };
    });
    return { content: calls.length > 0 ? content.trimEnd() : content, reasoning, toolCalls };
  }

  free(): void {}
}

interface Answer {
  reasoning: string;
  text: string;
  calls: { id: string; name: string; args: string }[];
}

function fold(deltas: readonly OutputDelta[]): Answer {
  const answer: Answer = { reasoning: "", text: "", calls: [] };
  for (const delta of deltas) {
    if (delta.type === "text" || delta.type === "reasoning") answer[delta.type] += delta.text;
    else if (delta.type === "tool_call_start")
      answer.calls.push({ id: delta.id, name: delta.name, args: "" });
    else {
      const call = answer.calls[delta.index];
      if (call !== undefined) call.args += delta.delta;
    }
  }
  return answer;
}

function run(
  text: string,
  size: number,
  prompt = new ToyPrompt(),
): { answer: Answer; deltas: OutputDelta[] } {
  const parser = new OutputParser(prompt, () => "call_x");
  const deltas: OutputDelta[] = [];
  for (let at = 0; at < text.length; at += size) deltas.push(...parser.push(text.slice(at, at + size)));
  deltas.push(...parser.end());
  return { answer: fold(deltas), deltas };
}

describe("OutputParser", () => {
  const call = '<tool_call>{"name": "weather", "arguments": {"city": "Paris"}}</tool_call>';
  const cases: readonly (readonly [string, Answer])[] = [
    [
      "Just text, a < b and <b>bold</b>.",
      { reasoning: "", text: "Just text, a < b and <b>bold</b>.", calls: [] },
    ],
    ["<think>hm, 1 < 2</think>Yes.\n", { reasoning: "hm, 1 < 2", text: "Yes.\n", calls: [] }],
    [
      `Let me look.\n\n${call}`,
      {
        reasoning: "",
        text: "Let me look.",
        calls: [{ id: "call_x", name: "weather", args: '{"city": "Paris"}' }],
      },
    ],
    [
      `<think>look</think>${call}${call}`,
      {
        reasoning: "look",
        text: "",
        calls: [
          { id: "call_x", name: "weather", args: '{"city": "Paris"}' },
          { id: "call_x", name: "weather", args: '{"city": "Paris"}' },
        ],
      },
    ],
  ];

  for (const [text, expected] of cases) {
    for (const size of [1, 2, 3, 7, 1000]) {
      test(`${JSON.stringify(text.slice(0, 30))} in pieces of ${size}`, () => {
        expect(run(text, size).answer).toEqual(expected);
      });
    }
  }

  test("reasoning and text stream as they come, not at the end", () => {
    const { deltas } = run("<think>one two three</think>four five six", 4);
    expect(deltas.filter(({ type }) => type === "reasoning").length).toBeGreaterThan(2);
    expect(deltas.filter(({ type }) => type === "text").length).toBeGreaterThan(2);
  });

  test("arguments stream while they are written", () => {
    const long = `{"name": "write", "arguments": {"text": "${"word ".repeat(100)}"}}`;
    const { deltas } = run(`<tool_call>${long}</tool_call>`, 5);
    expect(deltas.filter(({ type }) => type === "tool_call_args").length).toBeGreaterThan(10);
  });

  test("a long answer costs the parser next to nothing", () => {
    const prompt = new ToyPrompt();
    const text = `<think>${"reason ".repeat(2000)}</think>${"word ".repeat(20_000)}`;
    expect(run(text, 5, prompt).answer.text).toBe("word ".repeat(20_000));
    // A parser asked at every token would read 24 000 × 57 000 characters.
    expect(prompt.charsRead).toBeLessThan(text.length * 10);
  });

  test("a tool call cut off in the middle is not lost", () => {
    const { answer } = run('Well.<tool_call>{"name": "weather", "arguments": {"ci', 3);
    expect(answer.text).toBe("Well.");
    expect(answer.calls[0]?.args).toBe('{"ci');
  });
});
