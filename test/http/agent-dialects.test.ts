// The server's own settings hold in every dialect that can ask for tools: permission, rounds, dispatch.

import { describe, expect, test } from "bun:test";
import type { RunEvent } from "../../src/core/run.ts";
import { pythonToolset } from "../../src/agent/tools/python.ts";
import { calling, lastText, saying, scripted, testLoop, type TestLoopOptions } from "../helpers/agent.ts";
import { chatBody, messagesBody, responsesBody, testApp } from "../helpers/app.ts";
import { CONFINED, fakePython } from "../helpers/executors.ts";

interface Dialect {
  readonly path: string;
  /** A request that asks for Python. */
  readonly python: Record<string, unknown>;
  /** A request with a function of the client. */
  readonly withFunction: Record<string, unknown>;
}

const parameters = { type: "object", properties: {} };
const DIALECTS: Readonly<Record<string, Dialect>> = {
  chat: {
    path: "/v1/chat/completions",
    python: chatBody({ tools: [{ type: "code_interpreter" }] }),
    withFunction: chatBody({ tools: [{ type: "function", function: { name: "find", parameters } }] }),
  },
  Responses: {
    path: "/v1/responses",
    python: responsesBody({ tools: [{ type: "code_interpreter" }] }),
    withFunction: responsesBody({ tools: [{ type: "function", name: "find", parameters }] }),
  },
  messages: {
    path: "/v1/messages",
    python: messagesBody({ enable_code_execution: true }),
    withFunction: messagesBody({ tools: [{ name: "find", input_schema: parameters }] }),
  },
};

const CALL = calling(["svc_execute_python", { code: "1" }]);

/** What came of a request: the tool's calls, the passes, and the answer. */
async function ask(
  path: string,
  body: object,
  passes: readonly (readonly RunEvent[])[],
  options: Partial<TestLoopOptions>,
) {
  const { generate, requests } = scripted(...passes);
  const python = fakePython();
  const { converse, approvals } = testLoop({
    generate,
    toolsets: [pythonToolset(python, CONFINED)],
    ...options,
  });
  const app = testApp(generate, { converse, answerApproval: approvals.answer });
  const response = await app.post(path, body);
  return { response, text: await response.text(), python, requests };
}

describe.each(Object.entries(DIALECTS))("%s", (_name, { path, python, withFunction }) => {
  test("runs what is allowed", async () => {
    const { text, python: ran } = await ask(path, python, [CALL, saying("Done.")], {});
    expect(ran.asked).toHaveLength(1);
    expect(text).toContain("Done.");
  });

  test("deny holds", async () => {
    const asked = await ask(path, python, [CALL, saying("Pity.")], { permission: "deny" });
    expect(asked.response.status).toBe(200);
    expect(asked.python.asked).toEqual([]);
    expect(lastText(asked.requests[1])).toContain("denied by policy");
  });

  test("ask, where nobody can be asked, denies and does not fail", async () => {
    const asked = await ask(path, python, [CALL, saying("Pity.")], { permission: "ask" });
    expect(asked.response.status).toBe(200);
    expect(asked.python.asked).toEqual([]);
  });

  test("ask does not touch what calls nothing", async () => {
    const asked = await ask(path, python, [saying("Hi.")], { permission: "ask" });
    expect(asked.text).toContain("Hi.");
  });

  test("the server's cap on rounds holds", async () => {
    const asked = await ask(path, python, [CALL, saying("Enough.")], { maxToolRounds: 1 });
    expect(asked.requests).toHaveLength(2);
    expect(asked.requests[1]?.prompt).toMatchObject({ tools: [] });
  });

  test("the dispatch URL makes the calls of functions", async () => {
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("found") });
    try {
      const dispatch = { url: `http://127.0.0.1:${server.port}/`, timeoutMs: 10_000 };
      const passes = [calling(["find", {}]), saying("It is found.")];
      const asked = await ask(path, withFunction, passes, { dispatch, toolsets: [] });
      expect(lastText(asked.requests[1])).toBe("found");
      expect(asked.text).toContain("It is found.");
    } finally {
      await server.stop(true);
    }
  });

  test.skipIf(path === "/v1/messages")("several choices and tools exclude each other", async () => {
    const asked = await ask(path, { ...python, n: 2 }, [], {});
    expect(asked.response.status).toBe(400);
    expect(asked.text).toContain('"param":"n"');
  });
});

describe("an attached text of which the model gets the beginning", () => {
  const file = { filename: "a.txt", file_data: new TextEncoder().encode("x".repeat(9000)).toBase64() };
  const part = (extra: object) => [{ role: "user", content: [extra] }];
  const ASKS: readonly (readonly [string, object])[] = [
    ["/v1/chat/completions", chatBody({ messages: part({ type: "file", file }) })],
    ["/v1/responses", responsesBody({ input: part({ type: "input_file", ...file }) })],
  ];

  test.each(ASKS)("is named by the answer of %s, whole and streamed", async (path, body) => {
    for (const stream of [false, true]) {
      const { response, text } = await ask(path, { ...body, stream }, [saying("Done.")], {});
      expect(response.status).toBe(200);
      expect(text).toContain('"cut_files":[{"name":"a.txt","shown_characters":4096,"bytes":9000}]');
      expect(text).toContain("Done.");
    }
  });

  test("does not exist for documents of Messages, which are whole", async () => {
    const source = { type: "text", media_type: "text/plain", data: "x".repeat(9000) };
    const body = messagesBody({ messages: part({ type: "document", source }) });
    const { text, requests } = await ask("/v1/messages", body, [saying("Done.")], {});
    expect(text).not.toContain("cut_files");
    expect(JSON.stringify(requests)).toContain("x".repeat(9000));
  });
});
