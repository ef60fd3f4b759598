// Half of a surrogate pair is no character: JSON can say it, UTF-8 cannot, so no model can be told.

import { expect, test } from "bun:test";
import { testApp } from "../helpers/app.ts";

const { request } = testApp();
const HALF = String.raw`\ud83d`;
const send = (path: string, body: string): Promise<Response> =>
  request(path, { method: "POST", headers: { "content-type": "application/json" }, body });

test.each([
  ["/v1/chat/completions", `{"messages":[{"role":"user","content":"a${HALF}b"}]}`, "messages[0].content"],
  ["/v1/chat/completions", `{"messages":[],"stop":["x","${HALF}"]}`, "stop[1]"],
  ["/v1/completions", `{"prompt":"${String.raw`\udc00`}"}`, "prompt"],
  ["/v1/messages", `{"system":"${HALF}","messages":[],"max_tokens":1}`, "system"],
  [
    "/v1/responses",
    `{"input":[{"role":"user","content":[{"type":"input_text","text":"${HALF}"}]}]}`,
    "input[0].content[0].text",
  ],
  ["/v1/embeddings", `{"input":["a","${HALF}"]}`, "input[1]"],
  ["/v1/chat/completions", `{"messages":[],"tools":[{"${HALF}":1}]}`, "tools[0]"],
])("%s %s: 400 that names %s", async (path, body, param) => {
  const response = await send(path, body);
  expect(response.status).toBe(400);
  const { error } = (await response.json()) as { error: { message: string; param: string; code: string } };
  expect(error).toMatchObject({ code: "invalid_request", param });
  expect(error.message).toContain(`${param} has an unpaired surrogate`);
});

test("whole pairs, written as escapes or not, are characters", async () => {
  for (const text of [String.raw`\ud83d\ude00`, "😀", String.raw`\\ud83d`]) {
    const response = await send("/v1/chat/completions", `{"messages":[{"role":"user","content":"${text}"}]}`);
    expect(response.status).toBe(200);
  }
});
