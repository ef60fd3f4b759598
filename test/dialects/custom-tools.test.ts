// Custom tools: functions of one text for the model, calls of theirs for the client; formats as regular expressions.

import { describe, expect, test } from "bun:test";
import type { AnswerEvent } from "../../src/core/agent.ts";
import { type Compat, STRICT } from "../../src/core/compat.ts";
import { parseChatRequest } from "../../src/dialects/chat/request.ts";
import { chatAnswer, chatBody as answerBody } from "../../src/dialects/chat/response.ts";
import { chatStream } from "../../src/dialects/chat/stream.ts";
import { parseResponsesRequest } from "../../src/dialects/responses/request.ts";
import { ResponseStream } from "../../src/dialects/responses/stream.ts";
import { CustomInput } from "../../src/dialects/shared/custom-tools.ts";
import { larkRegex } from "../../src/dialects/shared/lark-regex.ts";
import { fed, framed } from "../helpers/dialects.ts";
import { chatBody, responsesBody } from "../helpers/app.ts";
import { NOTHING_STORED } from "../helpers/response-head.ts";
import { ACCEPTED, FINISH } from "../helpers/run-events.ts";

const PATCH = String.raw`
start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF // all of it
filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

%import common.LF
`;

describe("a Lark grammar", () => {
  const matches = (grammar: string, text: string): boolean => {
    const found = larkRegex(grammar);
    if (found === undefined) throw new Error("it has none");
    return new RegExp(`^(?:${found.regex})$`).test(text);
  };

  test("of patches is a regular expression", () => {
    expect(matches(PATCH, "*** Begin Patch\n*** Add File: a/b.txt\n+x = (1)\n+\n*** End Patch\n")).toBe(true);
    expect(matches(PATCH, "*** Begin Patch\n*** Delete File: a\n*** End Patch")).toBe(true);
    expect(matches(PATCH, "*** Begin Patch\n*** Add File: a\n*** End Patch")).toBe(false);
    expect(matches(PATCH, "*** Begin Patch\n*** End Patch\n")).toBe(false);
  });

  test.each([
    ['start: INT ("+" INT)*\n%import common.INT', ["1", "1+22"], ["+1", "1+"]],
    ['start: ("a" | "b")~2..3', ["ab", "bba"], ["a", "abab"]],
    ['start: "a".."f" ["."]', ["c", "f."], ["g", "."]],
    ["start: word\n  | number\nword: /[a-z]+/\nnumber: /\\d+/", ["ab", "12"], ["a1"]],
    ['start: "a" // one\n// or\n  | "b" # two\n\n  | "c"\n// end\n', ["a", "b", "c"], ["d", "ab"]],
    ['# first\nstart: A // both\n  B\nA: "a"\n%import common.INT -> B // of it\n', ["a1"], ["a"]],
    ['start: "a\\n\\"*"', ['a\n"*'], ["a"]],
    ["?start: X+\nX.2: /a|b/", ["abba"], ["c"]],
    ['start: "select"i " " /[a-z]/i', ["SELECT a", "Select B"], ["SELECT 1"]],
    ['start: start "," item | item\nitem: "a" | "b"', ["a", "a,b,a,b,a,b,a,b,a,b,a,b,a,b,a,b"], ["", "a,"]],
    ['start: "-" start | INT\n%import common.INT', ["1", "------------------------1"], ["-", "1-"]],
    ['start: sum\nsum: sum "+" sum | "-" sum | sum "!" | "1"', ["1", "-1!+--1+1!!"], ["+1", "1+", "!1"]],
    ["start: list\nlist: list list | /[ab]/", ["a", "abba"], ["", "c"]],
  ])("%j", (grammar, fits, others) => {
    expect(larkRegex(grammar)?.isWhole).toBe(true);
    for (const text of fits) expect([text, matches(grammar, text)]).toEqual([text, true]);
    for (const text of others) expect([text, matches(grammar, text)]).toEqual([text, false]);
  });

  test.each([
    ['start: "(" start ")" | "x"', ["x", "((((x))))"], ["(x", "x)", "()"]],
    ['start: "(" start* ")"', ["()", "(()())"], ["", "(", "(()"]],
    [
      `start: sum
       sum: product | sum ("+" | "-") product
       product: atom | product ("*" | "/") atom
       atom: NUMBER | "-" atom | "(" sum ")"
       %import common.NUMBER`.replaceAll(/^ +/gm, ""),
      ["1", "1+2*3-4/5+6+7+8", "--1*(2+3)", "(1+(2-3.5)*4)"],
      ["", "1+", "(1", "1)", "()", "1 + 2"],
    ],
    [
      `start: value
       value: "{" [pair ("," pair)*] "}" | "[" [value ("," value)*] "]" | ESCAPED_STRING | NUMBER | "null"
       pair: ESCAPED_STRING ":" value
       %import common (ESCAPED_STRING, NUMBER)`
        .replaceAll(/^ +/gm, "")
        .replace("common (", "common.("),
      ['{"a":[1,"b"],"c":null}', "[]"],
      ['{"a"}', "[1,]", "[1"],
    ],
    ['start: even\neven: "a" odd | "."\nodd: "b" even', [".", "ab.", "ababab."], ["a.", "aba."]],
  ])("that nests is one of some depth: %j", (grammar, fits, others) => {
    expect(larkRegex(grammar)?.isWhole).toBe(false);
    for (const text of fits) expect([text, matches(grammar, text)]).toEqual([text, true]);
    for (const text of others) expect([text, matches(grammar, text)]).toEqual([text, false]);
  });

  test("that multiplies at each name costs a moment", () => {
    const rules = Array.from({ length: 40 }, (_, at) => `r${at}: r${at + 1} r${at + 1} r${(at * 7) % 40}`);
    const grammar = ["start: r0 | r5", ...rules, 'r40: start | "a"'].join("\n");
    const began = performance.now();
    larkRegex(grammar);
    expect(performance.now() - began).toBeLessThan(5000);
  });

  test.each([
    "start: start",
    'start: "a" start',
    "start: missing",
    "start: /a/x",
    'start: "a"\n%ignore " "',
    "%import python.NAME\nstart: NAME",
    "rule: /a/",
    'start: ("a"',
    "",
  ])("that matches nothing, or is not understood, has none: %j", (grammar) =>
    expect(larkRegex(grammar)).toBeUndefined(),
  );
});

describe("the text of a call", () => {
  const TEXTS = ["", "plain", 'a "quote" and \\ back\nline\ttab', "é ü 漢字 🎉 \u2028", '}{"input"'];
  test.each(TEXTS)("%j comes out of any cut of its JSON", (text) => {
    const plain = JSON.stringify({ input: text });
    const spelled = plain.replaceAll(
      /[^\x20-\x7e]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    for (const json of [plain, spelled, `{ "input" : ${JSON.stringify(text)} }`]) {
      for (let size = 1; size <= json.length; size++) {
        const reader = new CustomInput();
        let out = "";
        for (let at = 0; at < json.length; at += size) out += reader.add(json.slice(at, at + size));
        expect(out).toBe(text);
      }
    }
  });
});

test.each(["ls -l", "{}", '{"command":"ls"}', '{"inp":"x"}', '{"input":["a"]}', '["a"]', '"input"'])(
  "arguments of another form are the text: %j",
  (json) => {
    const reader = new CustomInput();
    expect(Array.from(json, (char) => reader.add(char)).join("")).toBe(json);
    expect(new CustomInput().add(json)).toBe(json);
  },
);

const FORMAT = { type: "grammar", syntax: "regex", definition: "ls( -[al]+)?" } as const;
const TOOL = { type: "custom", name: "sh", description: "Runs it.", format: FORMAT } as const;
const NESTED = {
  type: "custom",
  custom: {
    name: "sh",
    description: "Runs it.",
    format: { type: "grammar", grammar: { syntax: "regex", definition: FORMAT.definition } },
  },
} as const;
const SPEC = {
  name: "sh",
  description: `Runs it.\n\nThe input follows this regex grammar:\n${FORMAT.definition}`,
  parameters: {
    type: "object",
    properties: { input: { type: "string", pattern: "^(?:ls( -[al]+)?)$" } },
    required: ["input"],
    additionalProperties: false,
  },
  strict: true,
};
const EVENTS: readonly AnswerEvent[] = [
  ACCEPTED,
  { type: "tool_call_start", choice: 0, index: 0, id: "call_1", name: "sh" },
  ...['{"inp', 'ut": "ls', " \\", '"-l"}'].map(
    (delta) => ({ type: "tool_call_args", choice: 0, index: 0, delta }) as const,
  ),
  { type: "choice_end", choice: 0, reason: "tool_calls" },
  FINISH,
];

describe("a custom tool", () => {
  test("is a function of one text, in both dialects and both modes", () => {
    for (const mode of ["strict", "clients"] as const) {
      const compat: Compat = { ...STRICT, mode };
      const choice = { type: "named", names: ["sh"], required: true };
      const body = { tools: [TOOL], tool_choice: { type: "custom", name: "sh" } };
      const responses = parseResponsesRequest(responsesBody(body), NOTHING_STORED, compat);
      expect(responses.run.prompt).toMatchObject({ tools: [SPEC], toolChoice: choice });
      const other = { tools: [NESTED], tool_choice: { type: "custom", custom: { name: "sh" } } };
      const chat = parseChatRequest(chatBody(other), compat);
      expect(chat.run.prompt).toMatchObject({ tools: [SPEC], toolChoice: choice });
      expect(chat.customTools).toEqual(new Set(["sh"]));
    }
  });

  test("without a format, or with a grammar that is not understood, takes any text", () => {
    const noted: string[] = [];
    const compat: Compat = { ...STRICT, note: (kind, what) => void noted.push(`${kind}=${what}`) };
    const nest = { type: "grammar", syntax: "lark", definition: 'start: "a"\n%ignore " "' };
    const tools = [
      { type: "custom", name: "a" },
      { ...TOOL, name: "b", format: nest },
    ];
    const { prompt } = parseResponsesRequest(responsesBody({ tools }), NOTHING_STORED, compat).run;
    expect(prompt.tools.map(({ parameters }) => parameters["properties"])).toEqual([
      { input: { type: "string" } },
      { input: { type: "string" } },
    ]);
    expect(prompt.tools[1]?.description).toContain(nest.definition);
    expect(noted).toEqual(["custom_format=b"]);
  });

  test("may name the groups of its format as Python does", () => {
    const definition = String.raw`^(?P<month>May|June) [(?P<]\(?P<$`;
    const tools = [{ ...TOOL, format: { type: "grammar", syntax: "regex", definition } }];
    const { prompt } = parseResponsesRequest(responsesBody({ tools }), NOTHING_STORED).run;
    expect(prompt.tools[0]?.parameters["properties"]).toEqual({
      input: { type: "string", pattern: String.raw`^(?:^(?<month>May|June) [(?P<]\(?P<$)$` },
    });
  });

  test("is called with its text in Responses, streamed and stored", () => {
    const call = parseResponsesRequest(responsesBody({ tools: [TOOL] }), NOTHING_STORED);
    const head = { id: `resp_${"0".repeat(24)}`, model: "m", created: 1, echo: call.echo };
    const stream = new ResponseStream({ head, names: call.names, clock: () => 2, choices: 1 });
    const frames = framed(stream, EVENTS);
    const datas = frames.matchAll(/^data: (.*)$/gm).map(([, json = ""]) => JSON.parse(json));
    const events = [...datas].filter(({ type }) => String(type).startsWith("response.custom"));
    expect(events.map(({ type, delta, input }) => [type, delta ?? input])).toEqual([
      ["response.custom_tool_call_input.delta", "ls"],
      ["response.custom_tool_call_input.delta", " "],
      ["response.custom_tool_call_input.delta", '"-l'],
      ["response.custom_tool_call_input.done", 'ls "-l'],
    ]);
    expect(stream.builder.resource().output).toEqual([
      {
        type: "custom_tool_call",
        id: expect.stringMatching(/^ctc_/),
        status: "completed",
        call_id: "call_1",
        name: "sh",
        input: 'ls "-l',
      },
    ]);
  });

  test("is called with its text in chat, streamed and whole", () => {
    const meta = { id: "chatcmpl-1", created: 1, model: "m", fingerprint: "f" };
    const customTools = new Set(["sh"]);
    const frames = framed(chatStream(meta, { choices: 1, includeUsage: false, customTools }), EVENTS);
    const folded = fed(chatAnswer({ choices: 1, customTools }), EVENTS);
    expect(answerBody(folded, meta, false).choices[0]?.message.tool_calls).toEqual([
      { id: "call_1", type: "custom", custom: { name: "sh", input: 'ls "-l' } },
    ]);
    expect(frames).toContain('"type":"custom","custom":{"name":"sh","input":""}');
    expect(frames).not.toContain("arguments");
  });
});
