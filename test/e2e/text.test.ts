// What a request brings is text, through every route of the executable that takes conversations: markup of the model in it
// takes the tokens of its letters, not one token each.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileServer, newFolder, startServer, TINY_FILE } from "../helpers/binary.ts";
import { postJson } from "../helpers/post.ts";

const server = fileServer();

const MARKUP = ["<|im_end|>", "<|im_start|>", "<think>", "</think>", "<tool_call>", "</tool_response>"];
const TIMES = 10;
const NASTY = MARKUP.map((word) => word.repeat(TIMES)).join("\n");
/** No word of the markup has fewer than three tokens of text. */
const TOKENS_MIN = 3 * TIMES * MARKUP.length;

const post = (path: string, body: object): Promise<Record<string, unknown>> =>
  postTo(server().url, path, body);

async function postTo<T>(url: string, path: string, body: object): Promise<T> {
  const response = await postJson(`${url}${path}`, body);
  const answer = await response.json();
  expect([path, response.status, response.ok ? "" : answer]).toEqual([path, 200, ""]);
  return answer;
}

/** How to say `text` somewhere in a conversation, and the size of the prompt. */
interface Place {
  readonly name: string;
  size(text: string): Promise<number>;
}

const CALL = { id: "call_1", type: "function", function: { name: "look", arguments: '{"at": "x"}' } };
const TOOL = { type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } };

async function chatSize(messages: readonly object[], extra: object = {}): Promise<number> {
  const { usage } = await post("/v1/chat/completions", {
    messages,
    max_tokens: 1,
    enable_thinking: false,
    ...extra,
  });
  return (usage as { prompt_tokens: number }).prompt_tokens;
}

async function countedSize(body: object): Promise<number> {
  const { input_tokens } = await post("/v1/messages/count_tokens", { model: "default", ...body });
  return input_tokens as number;
}

async function answeredSize(body: object): Promise<number> {
  const { usage } = await post("/v1/messages", { model: "default", max_tokens: 1, ...body });
  const counts = usage as Record<string, number>;
  return (counts["input_tokens"] ?? 0) + (counts["cache_read_input_tokens"] ?? 0);
}

async function responseSize(input: unknown): Promise<number> {
  const { usage } = await post("/v1/responses", {
    model: "default",
    input,
    max_output_tokens: 16,
    store: false,
  });
  return (usage as { input_tokens: number }).input_tokens;
}

const user = (content: string): object => ({ role: "user", content });
const toolUse = [{ type: "tool_use", id: "call_1", name: "look", input: { at: "x" } }];

const PLACES: readonly Place[] = [
  { name: "chat: user", size: (text) => chatSize([user(text)]) },
  { name: "chat: system", size: (text) => chatSize([{ role: "system", content: text }, user("Hi")]) },
  {
    name: "chat: tool result",
    size: (text) =>
      chatSize(
        [
          user("Hi"),
          { role: "assistant", tool_calls: [CALL] },
          { role: "tool", tool_call_id: "call_1", content: text },
        ],
        {
          tools: [TOOL],
        },
      ),
  },
  { name: "messages: user", size: (text) => answeredSize({ messages: [user(text)] }) },
  {
    name: "messages: tool result",
    size: (text) =>
      answeredSize({
        messages: [
          user("Hi"),
          { role: "assistant", content: toolUse },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: text }] },
        ],
      }),
  },
  { name: "messages: counted", size: (text) => countedSize({ messages: [user(text)] }) },
  { name: "responses: user", size: (text) => responseSize(text) },
  {
    name: "responses: tool result",
    size: (text) =>
      responseSize([
        { role: "user", content: "Hi" },
        { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" },
        { type: "function_call_output", call_id: "call_1", output: text },
      ]),
  },
];

test.each(PLACES)("markup is text: $name", async ({ size }) => {
  const empty = await size("x");
  expect((await size(NASTY)) - empty).toBeGreaterThanOrEqual(TOKENS_MIN);
});

test("a counted prompt is as long as the answered one", async () => {
  const body = { messages: [user(NASTY)] };
  expect(await countedSize(body)).toBe(await answeredSize(body));
});

test("whoever writes a whole prompt writes its markup", async () => {
  const { usage } = await post("/v1/completions", { prompt: NASTY.replaceAll("\n", ""), max_tokens: 1 });
  expect(usage).toMatchObject({ prompt_tokens: TIMES * MARKUP.length });
});

test("a model's entry lets text write some tokens, and leaves the template to decide whether to think", async () => {
  const template = join(newFolder(), "template.jinja");
  writeFileSync(
    template,
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n" +
      "{% if enable_thinking is defined and enable_thinking %}<think>\nI think: {% endif %}",
  );
  const words = [
    "--content-tokens",
    "<|im_start|>",
    "--thinking-default",
    "template",
    "--chat-template",
    template,
  ];
  const { url } = await startServer(["-m", TINY_FILE, ...words]);
  const size = async (content: string, extra: object = {}): Promise<number> => {
    const body = { messages: [user(content)], max_tokens: 1, ...extra };
    const { usage } = await postTo<{ usage: { prompt_tokens: number } }>(url, "/v1/chat/completions", body);
    return usage.prompt_tokens;
  };
  const plain = await size("x");
  expect(await size(`x${"<|im_start|>".repeat(TIMES)}`)).toBe(plain + TIMES);
  expect(await size(`x${"<|im_end|>".repeat(TIMES)}`)).toBeGreaterThanOrEqual(plain + 3 * TIMES);
  expect(await size("x", { enable_thinking: false })).toBe(plain);
  expect(await size("x", { enable_thinking: true })).toBeGreaterThan(plain);
});
