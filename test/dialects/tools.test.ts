// Function tools and tool_choice of chat completions.

import { describe, expect, test } from "bun:test";
import { TOOL_NAME_CHARS_MAX, TOOLS_MAX } from "../../src/core/limits.ts";
import { parseChatRequest } from "../../src/dialects/chat/request.ts";
import { chatBody } from "../helpers/app.ts";
import { type Body, type Rule, testRules } from "../helpers/rules.ts";

const tool = (name: string, extra: Body = {}) => ({ type: "function", function: { name, ...extra } });
const TOOLS = [tool("find"), tool("stop")];
const NO_ARGUMENTS = { type: "object", properties: {} };

const promptOf = (extra: Body) => parseChatRequest(chatBody(extra)).run.prompt;

describe("tools", () => {
  test("the nested and the flat form are equivalent", () => {
    const parameters = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };
    const fields = { description: "Finds things.", parameters, strict: true };
    const meaning = [{ name: "find", description: "Finds things.", parameters, strict: true }];
    expect(promptOf({ tools: [tool("find", fields)] }).tools).toEqual(meaning);
    expect(promptOf({ tools: [{ type: "function", name: "find", ...fields }] }).tools).toEqual(meaning);
    const flat = { type: "function", function: null, name: "find", ...fields };
    expect(promptOf({ tools: [flat] }).tools).toEqual(meaning);
  });

  test("null fields count as absent", () => {
    const nulls = { description: null, parameters: null, strict: null };
    expect(promptOf({ tools: [tool("find", nulls)] }).tools).toEqual([
      { name: "find", parameters: NO_ARGUMENTS, strict: false },
    ]);
  });

  const $defs = { a: { properties: {} } };
  test.each<[Body, object]>([
    [{}, NO_ARGUMENTS],
    [{ parameters: {} }, NO_ARGUMENTS],
    [{ parameters: { properties: { a: {} } } }, { type: "object", properties: { a: {} } }],
    [{ parameters: { $ref: "#/$defs/a", $defs } }, { type: "object", $ref: "#/$defs/a", $defs }],
  ])("parameters of %j become an object schema", (fields, parameters) => {
    expect<object | undefined>(promptOf({ tools: [tool("find", fields)] }).tools[0]?.parameters).toEqual(
      parameters,
    );
  });
});

describe("tool_choice", () => {
  const named = (required: boolean, ...names: readonly string[]) => ({ type: "named", names, required });
  const nestedName = (name: string) => ({ type: "function", function: { name } });
  const flatName = (name: string) => ({ type: "function", name });
  const allowed = (mode: string, ...tools: readonly object[]) => ({ type: "allowed_tools", mode, tools });

  test.each<[unknown, object]>([
    [undefined, { type: "auto" }],
    [null, { type: "auto" }],
    ["auto", { type: "auto" }],
    ["required", { type: "required" }],
    [nestedName("stop"), { ...named(true, "stop"), once: true }],
    [flatName("stop"), { ...named(true, "stop"), once: true }],
    [allowed("auto", flatName("find")), named(false, "find")],
    [allowed("required", flatName("find"), nestedName("stop")), named(true, "find", "stop")],
    [allowed("auto", flatName("find"), flatName("find")), named(false, "find")],
    [
      { type: "allowed_tools", allowed_tools: { mode: "required", tools: [nestedName("find")] } },
      named(true, "find"),
    ],
  ])("%j", (choice, meaning) => {
    const { tools, toolChoice } = promptOf({ tools: TOOLS, tool_choice: choice });
    expect(tools.map(({ name }) => name)).toEqual(["find", "stop"]);
    expect<object>({ ...toolChoice }).toEqual({ ...meaning });
  });

  test.each<[Body]>([[{ tools: TOOLS, tool_choice: "none" }], [{ tool_choice: "none" }]])(
    "%j drops all tools",
    (fields) => {
      expect(promptOf(fields)).toMatchObject({ tools: [], toolChoice: { type: "none" } });
    },
  );

  test.each<[Body]>([
    [{ tools: [], tool_choice: "auto" }],
    [{ tools: null, tool_choice: null }],
    [{ tool_choice: "auto" }],
    [{}],
  ])("%j keeps auto, for tools of the server", (fields) => {
    expect(promptOf(fields)).toMatchObject({ tools: [], toolChoice: { type: "auto" } });
  });

  test("required without functions is accepted, for tools of the server", () => {
    expect(promptOf({ tool_choice: "required" })).toMatchObject({
      tools: [],
      toolChoice: { type: "required" },
    });
  });

  const body = (choice: unknown, tools: readonly object[] = TOOLS) =>
    chatBody({ tools, tool_choice: choice });
  const RULES: readonly Rule[] = [
    [
      body(nestedName("find"), []),
      "invalid_request",
      "tool_choice",
      "declares no function",
      '"required" for tools of the server',
    ],
    [body(allowed("auto", flatName("find")), []), "invalid_request", "tool_choice"],
    [body("sometimes"), "unsupported_value", "tool_choice", '"auto"', '"sometimes"'],
    [body(5), "invalid_request", "tool_choice", "a string or an object"],
    [body({}), "missing_field", "tool_choice.type"],
    [body({ type: "code_interpreter" }), "unsupported_value", "tool_choice.type", '"allowed_tools"'],
    [body({ type: "function" }), "missing_field", "tool_choice.function"],
    [body({ type: "function", function: {} }), "missing_field", "tool_choice.function.name"],
    [body(nestedName("lose")), "invalid_request", "tool_choice.function.name", '"lose"'],
    [body(flatName("lose")), "invalid_request", "tool_choice.name", '"lose"'],
    [body({ type: "allowed_tools" }), "missing_field", "tool_choice.mode"],
    [body(allowed("never", flatName("find"))), "unsupported_value", "tool_choice.mode", '"required"'],
    [body(allowed("auto")), "invalid_request", "tool_choice.tools", "empty"],
    [body(allowed("auto", flatName("lose"))), "invalid_request", "tool_choice.tools[0].name", '"lose"'],
    [body(allowed("auto", { type: "shell" })), "unsupported_value", "tool_choice.tools[0].type"],
    [
      body({ type: "allowed_tools", allowed_tools: { mode: "auto", tools: [nestedName("lose")] } }),
      "invalid_request",
      "tool_choice.allowed_tools.tools[0].function.name",
    ],
  ];

  describe("refused", () => testRules(parseChatRequest, RULES));
});

describe("refused tools", () => {
  const tools = (...sent: readonly unknown[]) => chatBody({ tools: sent });
  const RULES: readonly Rule[] = [
    [chatBody({ tools: {} }), "invalid_request", "tools", "an array"],
    [tools("find"), "invalid_request", "tools[0]", "an object"],
    [tools({ x: { name: "find" } }), "missing_field", "tools[0].type"],
    [tools({ type: "function" }), "missing_field", "tools[0].function"],
    [tools({ type: "function", function: "find" }), "invalid_request", "tools[0].function", "an object"],
    [tools({ type: "function", function: {} }), "missing_field", "tools[0].function.name"],
    [tools({ type: "function", name: "f", function: {} }), "missing_field", "tools[0].function.name"],
    [tools(tool("")), "invalid_request", "tools[0].function.name", "empty"],
    [tools(tool("x".repeat(TOOL_NAME_CHARS_MAX + 1))), "invalid_request", "tools[0].function.name"],
    [tools(tool("f", { description: 5 })), "invalid_request", "tools[0].function.description"],
    [tools(tool("f", { strict: "yes" })), "invalid_request", "tools[0].function.strict"],
    [tools(tool("f", { parameters: [] })), "invalid_request", "tools[0].function.parameters", "an object"],
    [
      tools(tool("f", { parameters: { type: "string" } })),
      "invalid_request",
      "tools[0].function.parameters.type",
      '"object"',
      '"string"',
    ],
    [
      tools({ type: "function", name: "f", parameters: { type: ["object", "null"] } }),
      "invalid_request",
      "tools[0].parameters.type",
    ],
    [tools(tool("f"), tool("g"), tool("f")), "invalid_request", "tools[2].function.name", '"f"'],
    [tools(tool("f"), { type: "function", name: "f" }), "invalid_request", "tools[1].name"],
    [tools(...Array(TOOLS_MAX + 1).fill(tool("f"))), "invalid_request", "tools", `${TOOLS_MAX}`],
    [tools({ type: "shell" }), "unsupported_value", "tools[0].type", '"shell"'],
    [tools({ type: "web_search" }), "unsupported_value", "tools[0].type"],
    [tools({ type: "custom" }), "missing_field", "tools[0].custom"],
  ];
  testRules(parseChatRequest, RULES);
});
