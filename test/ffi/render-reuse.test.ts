// Parsers and grammars of tools are kept from request to request (ffi/hooks/template_cache.cpp): what a request gets
// must be what it would get from a model that has seen no other.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { LlamaPrompt } from "../../ffi/llama/prompt.ts";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { takeText } from "../../ffi/text.ts";
import type { ToolSpec } from "../../src/core/message.ts";
import type { Prompt } from "../../src/core/run.ts";
import type { RenderedPrompt } from "../../src/worker/text/backend.ts";
import { chatRequest, run } from "../helpers/engine-run.ts";
import { native, tinyBackend } from "../helpers/native.ts";

let used: LlamaBackend;
beforeAll(async () => {
  used = await tinyBackend();
});
afterAll(() => used.close());

/** A tool whose only argument has a name of its own. */
function tool(name: string, argument: string): ToolSpec {
  const parameters = { type: "object", properties: { [argument]: { type: "string" } }, required: [argument] };
  return { name, description: `Looks ${argument} up`, parameters, strict: false };
}

const CITY = tool("look_up", "city");
const FISH = tool("look_up", "fish");

/** Requests that differ in one thing each from the one before. */
const PROMPTS: readonly Prompt[] = [
  { tools: [], text: "Hello" },
  { tools: [CITY], text: "Hello" },
  { tools: [CITY], text: "Something else" },
  { tools: [FISH], text: "Something else" },
  { tools: [FISH, tool("other", "word")], text: "Something else" },
  { tools: [FISH], text: "Something else", required: true },
  { tools: [FISH], text: "Something else", required: true, thinking: true },
  { tools: [FISH], text: "Something else", thinking: true },
  { tools: [FISH], text: "Something else", thinking: true, singleCall: true },
].map(({ tools, text, required = false, thinking = false, singleCall = false }) => ({
  type: "chat",
  messages: [{ role: "user", content: [{ type: "text", text }] }],
  tools,
  toolChoice: { type: required ? "required" : tools.length > 0 ? "auto" : "none" },
  singleCall,
  thinking: { enabled: thinking },
}));

function render(backend: LlamaBackend, prompt: Prompt): RenderedPrompt {
  const pending = backend.render(prompt);
  for (;;) {
    const rendered = pending.take(1000);
    if (rendered !== undefined) return rendered;
  }
}

/** All that is to be seen of a rendered prompt, with what it makes of an answer that calls both tools. */
function seen(backend: LlamaBackend, prompt: Prompt): object {
  const rendered = render(backend, prompt);
  const call = (argument: string): string =>
    `<tool_call>\n${JSON.stringify({ name: "look_up", arguments: { [argument]: "x" } })}\n</tool_call>`;
  const parsed = ["city", "fish"].map((argument) => rendered.parse(call(argument)));
  const told = parsed.map(
    (message) => message && { ...message, toolCalls: message.toolCalls.map(withoutId) },
  );
  const { tokens, format } = rendered;
  const calls = { ...format.calls, judge: format.calls?.judge(call("city")) };
  rendered.free();
  return { tokens, format: { ...format, calls }, told };
}

function withoutId({ name, arguments: args }: { name: string; arguments: string }): object {
  return { name, args };
}

test("rendering and parsing of a request do not depend on earlier requests", async () => {
  const order = [...PROMPTS, ...PROMPTS.toReversed()];
  const inTurn = order.map((prompt) => seen(used, prompt));
  for (const [index, prompt] of PROMPTS.entries()) {
    const fresh = await tinyBackend();
    const alone = seen(fresh, prompt);
    fresh.close();
    expect(inTurn[index]).toEqual(alone);
    expect(inTurn[order.length - 1 - index]).toEqual(alone);
  }
});

test("the call grammar belongs to the request's own tools", () => {
  const base = chatRequest("What is the weather in Paris?");
  const argumentsWith = (spec: ToolSpec): readonly string[] => {
    const prompt = { ...base.prompt, tools: [spec], toolChoice: { type: "required" } } as Prompt;
    const { calls } = run(used, { ...base, prompt });
    return Object.keys(JSON.parse(calls[0]?.args ?? "{}") as object);
  };
  for (const word of ["city", "fish", "city", "tree", "fish"]) {
    expect(argumentsWith(tool("look_up", word))).toEqual([word]);
  }
});

test("more kinds of requests than the cache holds", () => {
  const prompt = (index: number): Prompt => ({
    type: "chat",
    messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
    tools: [tool("look_up", `word${index % 20}`)],
    toolChoice: { type: "auto" },
    thinking: { enabled: false },
  });
  const first = Array.from({ length: 20 }, (_, index) => seen(used, prompt(index)));
  for (const index of first.keys()) expect(seen(used, prompt(index + 20))).toEqual(first[index] ?? {});
});

test("the text of a parser has no node to which nothing leads, and one of equal nodes", () => {
  const tools = Array.from({ length: 30 }, (_, index) => tool(`tool_${index}`, "word"));
  const toolChoice = { type: "auto" } as const;
  const rendered = render(used, { ...chatRequest("Hello").prompt, tools, toolChoice } as Prompt);
  if (!(rendered instanceof LlamaPrompt)) throw new Error("a chat prompt is rendered by llama.cpp");
  type Node = { readonly type: string; readonly child?: number; readonly children?: readonly number[] };
  const { parsers, rules, root }: { parsers: Node[]; rules: Record<string, number>; root: number } =
    JSON.parse(takeText(native(), native().svc_render_parser(rendered.handle)));
  const text = `<tool_call>\n{"name": "tool_29", "arguments": {"word": "x"}}\n</tool_call>`;
  expect(rendered.parse(text)?.toolCalls.map(({ name }) => name)).toEqual(["tool_29"]);
  rendered.free();
  const led = new Set([root, ...Object.values(rules)]);
  for (const id of led) for (const next of childrenOf(parsers[id])) led.add(next);
  expect([...led].sort((a, b) => a - b)).toEqual([...parsers.keys()]);
  const texts = parsers.filter(({ type }) => type !== "chars").map((node) => JSON.stringify(node));
  expect(new Set(texts).size).toBe(texts.length);

  function childrenOf(node: Node | undefined): readonly number[] {
    return node?.child === undefined ? (node?.children ?? []) : [node.child];
  }
});

test("a short prompt overtakes a very long one that is still being tokenized", () => {
  const long = used.render({ type: "text", text: "many words and then some more of them, ".repeat(50_000) });
  const short = used.render(chatRequest("Hello").prompt);
  expect([long.long, short.long]).toEqual([true, false]);
  let ready: RenderedPrompt | undefined;
  while (ready === undefined) ready = short.take(1);
  expect(long.take(0)).toBeUndefined();
  long.free();
  ready.free();
});
