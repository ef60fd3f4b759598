// The built-in model with the server's tools, through the executable.

import { afterAll, describe, expect, test } from "bun:test";
import { fileServer } from "../helpers/binary.ts";

const dispatched: unknown[] = [];
const dispatch = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) => {
    dispatched.push(await request.json());
    return Response.json({ content: "391" });
  },
});
afterAll(() => dispatch.stop(true));

const PYTHON = {
  type: "function",
  function: {
    name: "python",
    description: "Run Python code and return its output.",
    parameters: { type: "object", properties: { code: { type: "string" } }, required: ["code"] },
  },
};

describe("a dispatch URL", () => {
  const server = fileServer(["--tool-dispatch-url", `http://127.0.0.1:${dispatch.port}/`]);

  test("makes the calls of the client's functions, and the model answers with what it got", async () => {
    const response = await fetch(`${server().url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        temperature: 0,
        enable_thinking: false,
        messages: [{ role: "user", content: "Use python to compute 17*23." }],
        tools: [PYTHON],
      }),
    });
    expect(await response.json()).toMatchObject({
      choices: [{ finish_reason: "stop", message: { content: "The result is: 391" } }],
      agentic_tool_calls: [{ round: 1, name: "python", result_content: "391" }],
      session_id: expect.any(String),
    });
    expect(dispatched).toEqual([{ name: "python", arguments: { code: "print(17*23)" } }]);
  });
});
