// The output parser against a small parser of our own in place of llama.cpp's: <think>…</think> then text, with
// <tool_call>{json}</tool_call> anywhere after it.

import { describe, expect, test } from "bun:test";
import type {
  CallStart,
  OutputFormat,
  ParsedMessage,
  RenderedPrompt,
} from "../../../src/worker/text/backend.ts";
import { type OutputDelta, OutputParser } from "../../../src/worker/text/output-parser.ts";
import { foldDeltas, type ParsedAnswer } from "../../helpers/parse-output.ts";

const MARKER = "<tool_call>";
const CALL_HEAD = '{"name": "';

/** A call begins with the marker, the head, and a letter of a name. */
function judge(text: string): CallStart {
  const rest = text.slice(MARKER.length);
  if (CALL_HEAD.startsWith(rest)) return { type: "open" };
  return rest.startsWith(`${CALL_HEAD}w`) ? { type: "call", text } : { type: "prose" };
}

const FORMAT: OutputFormat = {
  thinks: true,
  thinkingStart: "<think>",
  thinkingStartTokens: new Int32Array(),
  thinkingEnds: ["</think>"],
  startsInReasoning: false,
  toolMarkers: ["<tool_call>"],
  toolMarkerTokens: new Int32Array(),
  calls: { openers: ["<tool_call>"], judge, fenced: false, required: false, framed: false },
  stops: [],
  visibleTokens: new Set(),
  markup: ["<think>", "</think>", "<tool_call>", "</tool_call>"],
};

/** Reads the toy format; counts how many characters it was given in all. */
class ToyPrompt implements RenderedPrompt {
  readonly tokens = new Int32Array();
  readonly media = [];
  readonly format: OutputFormat;
  readonly plain = false;
  charsRead = 0;

  constructor(format: OutputFormat = FORMAT) {
    this.format = format;
  }

  plan(): undefined {}

  parse(text: string): ParsedMessage | undefined {
    this.charsRead += text.length;
    const cut = text.replace(/<[a-z_/]*$/, "");
    const [, reasoning = "", rest = ""] = /^(?:<think>([^]*?)(?:<\/think>|$))?([^]*)$/.exec(cut) ?? [];
    const [content = "", ...calls] = rest.split("<tool_call>");
    const alien = (call: string): boolean => !CALL_HEAD.startsWith(call.slice(0, CALL_HEAD.length));
    if (calls.some(alien)) return undefined;
    const named = calls.filter((call) => call.startsWith(CALL_HEAD));
    const toolCalls = named.map((call) => {
      const body = call.replace(/<\/tool_call>\s*$/, "");
      const [, name = "", args = ""] = /^\{"name": "([a-z]+)", "arguments": ([^]*?)\}?$/.exec(body) ?? [];
      return { id: "", name, arguments: args };
    });
    return { content: calls.length > 0 ? content.trimEnd() : content, reasoning, toolCalls };
  }

  free(): void {}
}

function run(
  text: string,
  size: number,
  prompt = new ToyPrompt(),
  cut = false,
): { answer: ParsedAnswer; deltas: OutputDelta[] } {
  const parser = new OutputParser(prompt, () => "call_x");
  const deltas: OutputDelta[] = [];
  for (let at = 0; at < text.length; at += size) deltas.push(...parser.push(text.slice(at, at + size)));
  deltas.push(...parser.end(cut));
  return { answer: foldDeltas(deltas), deltas };
}

const CITY = '{"city": "Paris"}';

function quoted(reasoning: string, text: string): ParsedAnswer {
  return { reasoning, text, calls: [] };
}

describe("OutputParser", () => {
  const call = '<tool_call>{"name": "weather", "arguments": {"city": "Paris"}}</tool_call>';
  const cases: readonly (readonly [string, ParsedAnswer])[] = [
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

  const mends: readonly (readonly [string, string, Partial<ParsedAnswer>])[] = [
    ["markup that is only talked about", "Write <tool_call> first, 1 < 2.", {}],
    ["a call that has just begun", 'Well.<tool_call>{"na', {}],
    ["a marker cut off", "Well.<tool_", {}],
    ["the end of reasoning cut off", "<think>Well.</thi", { reasoning: "Well.</thi", text: "" }],
  ];
  for (const [what, text, expected] of mends) {
    test(`${what} is not lost`, () => {
      for (const size of [1, 2, 3, 7, 1000])
        expect(run(text, size).answer).toEqual({ reasoning: "", text, calls: [], ...expected });
    });
  }

  test("after a call, what follows no format is text", () => {
    for (const size of [1, 2, 3, 7, 1000]) {
      const { answer } = run(`${call}<tool_call>oh <tool_call>`, size);
      expect(answer.calls.map(({ args }) => args)).toEqual(['{"city": "Paris"}']);
      expect(answer.text).toBe("<tool_call>oh <tool_call>");
    }
  });

  test("of markup within longer markup, nothing of the longer one leaks", () => {
    const prompt = new ToyPrompt({ ...FORMAT, markup: [...FORMAT.markup, "tool_call"] });
    for (const size of [1, 2, 3, 7]) {
      const { answer } = run(`Let me look. ${call}`, size, prompt);
      expect(answer.text.trimEnd()).toBe("Let me look.");
    }
  });

  const cuts: readonly (readonly [string, string, string, Partial<ParsedAnswer>])[] = [
    ["a marker", "Well.<tool_", "Well.", {}],
    ["a call without a name", 'Well.<tool_call>{"na', "Well.", {}],
    ["the end of reasoning", "<think>Well.</thi", "", { reasoning: "Well." }],
    ["a call in reasoning", '<think>Well.<tool_call>{"na', "", { reasoning: "Well." }],
    ["a less-than sign", "1 <", "1 <", {}],
    ["a second call", `${call}<tool_`, "", { calls: [{ id: "call_x", name: "weather", args: CITY }] }],
  ];
  test.each(cuts)("%s cut off by a length limit leaves nothing", (_what, raw, text, expected) => {
    for (const size of [1, 2, 3, 7, 1000])
      expect(run(raw, size, new ToyPrompt(), true).answer).toEqual({
        reasoning: "",
        text,
        calls: [],
        ...expected,
      });
  });

  const made = [{ id: "call_x", name: "weather", args: CITY }];
  const long = call.replace("Paris", `Paris${"\\n".repeat(600)}`);
  const fenced = `So:\n\`\`\`\n${long}\n  \`\`\`\nOr not.`;
  const quotes: readonly (readonly [string, string, ParsedAnswer])[] = [
    ["in closed reasoning", `<think>${call} or not</think>No.`, quoted(`${call} or not`, "No.")],
    ["in reasoning, before text", `<think>Say ${call}</think>No.`, quoted(`Say ${call}`, "No.")],
    [
      "in a code fence",
      `So:\n\`\`\`\n${call}\n\`\`\`\nOr not.`,
      quoted("", `So:\n\`\`\`\n${call}\n\`\`\`\nOr not.`),
    ],
    ["that is long, in reasoning", `<think>Say ${long}</think>No.`, quoted(`Say ${long}`, "No.")],
    ["that is long, in a code fence", fenced, quoted("", fenced)],
    ["of another tool", call.replace("weather", "example"), quoted("", call.replace("weather", "example"))],
  ];
  test.each(quotes)("a quoted call %s is text", (_where, raw, expected) => {
    for (const size of [1, 2, 3, 7, 1000]) expect(run(raw, size).answer).toEqual(expected);
  });

  test.each(["", "</think>", "\n</think>\n"])("reasoning that ends with a call and %j makes it", (end) => {
    for (const size of [1, 2, 3, 7, 1000]) {
      const { answer } = run(`<think>I look. ${call}${end}`, size);
      expect([answer.reasoning.trim(), answer.text, answer.calls]).toEqual(["I look.", "", made]);
    }
  });

  test("an end of reasoning that has not begun is left out, one that the text is about stays", () => {
    for (const size of [1, 2, 3, 7, 1000]) {
      const { answer } = run("Hm.\n</think>\n\nYes. The </think> tag.", size);
      expect(answer).toEqual({ reasoning: "", text: "Hm.\n\n\nYes. The </think> tag.", calls: [] });
    }
  });

  test("a call that begins in pieces is noticed with the first letter of its name", () => {
    const parser = new OutputParser(new ToyPrompt(), () => "call_x");
    const seen = Array.from('One two <tool_call>{"name": "w', (char) => {
      parser.push(char);
      return parser.callText;
    });
    expect(seen.findIndex((text) => text !== undefined)).toBe(seen.length - 1);
    expect(seen.at(-1)).toBe('<tool_call>{"name": "w');
  });

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
