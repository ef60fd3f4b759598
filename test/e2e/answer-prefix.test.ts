// Answers that have begun, through the compiled executable: the model goes on with them, in both dialects that let clients
// begin one.

import { expect, test } from "bun:test";
import { fileServer } from "../helpers/binary.ts";
import { postJson } from "../helpers/post.ts";

const server = fileServer();

async function post(path: string, body: unknown) {
  const response = await postJson(`${server().url}${path}`, body);
  return { status: response.status, body: await response.json() };
}

const QUESTION = { role: "user", content: "What is the capital of France?" };
/** What the model says from its beginning on. */
const WHOLE = "The capital of France is Paris.";
const BEGUN = { role: "assistant", content: "The capital of France" };
const REST = WHOLE.slice(BEGUN.content.length);

test("chat goes on where it is told so, and begins anew where it is not", async () => {
  const messages = [QUESTION, BEGUN];
  const ask = { messages, temperature: 0, max_tokens: 32 };
  const begun = await post("/v1/chat/completions", { ...ask, continue_final_message: true });
  expect(begun.body.choices[0].message).toMatchObject({ content: REST });
  const anew = await post("/v1/chat/completions", { ...ask, max_tokens: 200, messages: [QUESTION] });
  expect(anew.body.choices[0].message.content).toBe(WHOLE);
});

test("messages go on with an assistant message at their end", async () => {
  const body = { messages: [QUESTION, BEGUN], temperature: 0, max_tokens: 32 };
  const { body: message } = await post("/v1/messages", body);
  expect(message.content).toEqual([{ type: "text", text: REST }]);
  const counted = await post("/v1/messages/count_tokens", { messages: [QUESTION, BEGUN] });
  expect(counted.body.input_tokens).toBe(message.usage.input_tokens);
});

test("what cannot be continued is refused by its field", async () => {
  const format = { response_format: { type: "json_schema", json_schema: { name: "a", schema: {} } } };
  for (const [path, body, param] of [
    [
      "/v1/chat/completions",
      { messages: [QUESTION], continue_final_message: true },
      "continue_final_message",
    ],
    ["/v1/chat/completions", { messages: [BEGUN], continue_final_message: true }, "messages[0]"],
    [
      "/v1/chat/completions",
      { messages: [QUESTION, BEGUN], continue_final_message: true, ...format },
      "response_format",
    ],
    ["/v1/messages", { messages: [QUESTION, BEGUN], max_tokens: 9, ...format }, "response_format"],
  ] as const) {
    const { status, body: answer } = await post(path, body);
    expect([status, answer.error.param]).toEqual([400, param]);
  }
});
