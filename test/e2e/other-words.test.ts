// Requests in the words of other servers' clients, through the executable: tools that take text, constraints of vLLM, variables of
// the chat template, histories with items of hosted tools.

import { expect, test } from "bun:test";
import { fileServer } from "../helpers/binary.ts";
import { complete, postChat, streamed } from "../helpers/chat-client.ts";
import { postJson } from "../helpers/post.ts";

const server = fileServer();

const MONTH = String.raw`^(?P<month>May|June) \d$`;
const DATE = { type: "grammar", syntax: "regex", definition: MONTH };
const LIST = {
  type: "grammar",
  syntax: "lark",
  definition: 'start: item ("," item)* // all\nitem: "x" // one\n  | "y"\n',
};
const ask = (text: string) => ({ messages: [{ role: "user", content: text }], max_tokens: 300 });

async function respond(body: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  const response = await postJson(`${server().url}/v1/responses`, { max_output_tokens: 300, ...body });
  const answer: unknown = await response.json();
  expect([response.status, answer]).toEqual([200, expect.anything()]);
  return answer as Record<string, unknown>; // every answer is an object
}

test.each([
  [DATE, /^(?:May|June) \d$/],
  [LIST, /^[xy](?:,[xy])*$/],
])("a custom tool gets text of its format, and its result is read: %j", async (format, form) => {
  const custom = { name: "note", description: "Takes a note.", format };
  const chat = await complete(server().url, {
    ...ask("Take a note."),
    tools: [{ type: "custom", custom }],
    tool_choice: { type: "custom", custom: { name: "note" } },
    enable_thinking: false,
  });
  const [made] = chat.choices[0]?.message.tool_calls ?? [];
  expect(made?.type === "custom" ? made.custom.input : made).toMatch(form);

  const tools = [{ type: "custom", ...custom }];
  const input = [{ role: "user", content: "Take a note." }];
  const { output } = await respond({ input, tools, tool_choice: { type: "custom", name: "note" } });
  const items = output as { type: string; call_id?: string; input?: string }[];
  const call = items.find(({ type }) => type === "custom_tool_call");
  expect(call?.input).toMatch(form);
  const result = { type: "custom_tool_call_output", call_id: call?.call_id, output: "noted" };
  expect(await respond({ input: [...input, call, result], tools })).toMatchObject({ status: "completed" });
});

test.each([
  { guided_choice: ["left (a)", "right [b]"] },
  { structured_outputs: { choice: ["left (a)", "right [b]"] } },
  { guided_regex: String.raw`left \(a\)|right \[b\]` },
])("an answer is one of the texts of %j", async (guided) => {
  const body = { ...ask("Left or right?"), ...guided, chat_template_kwargs: { enable_thinking: false } };
  const { choices } = await complete(server().url, body);
  expect(["left (a)", "right [b]"]).toContain(choices[0]?.message.content ?? "");
  expect(choices[0]?.message.reasoning_content).toBeUndefined();
  expect((await streamed(server().url, body)).text).toMatch(/^(?:left \(a\)|right \[b\])$/);
});

test("a grammar under any name is refused beside a call that must be made", async () => {
  const tools = [{ type: "function", function: { name: "f" } }];
  const body = { ...ask("Left or right?"), guided_choice: ["left"], tools, tool_choice: "required" };
  const response = await postChat(server().url, body);
  expect([response.status, await response.text()]).toEqual([
    400,
    expect.stringContaining("contradictory_fields"),
  ]);
});

test("a history goes on after tools of another server, and items that nobody knows", async () => {
  const input = [
    { role: "user", content: "What is new?" },
    { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "news" } },
    { type: "future_item", id: "fi_1", secret: "x" },
    { role: "assistant", content: [{ type: "output_text", text: "Nothing.", annotations: [] }] },
    { role: "user", content: "Say it again." },
  ];
  expect(await respond({ input, reasoning: { enabled: false } })).toMatchObject({
    object: "response",
    error: null,
  });
});
