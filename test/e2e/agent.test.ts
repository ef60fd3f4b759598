// The built-in model with the server's tools, through the executable: real code runs, in every dialect.

import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { fileServer, newFolder, type Server, startServer } from "../helpers/binary.ts";
import { startCodeServer } from "../helpers/code-server.ts";
import { postJson } from "../helpers/post.ts";
import { describeWith } from "../helpers/programs.ts";
import { parseSse } from "../helpers/sse.ts";
import { until } from "../helpers/until.ts";

/** The toy understands few wordings; these it does. */
const COMPUTE = "Use python to compute 17*23.";
const WRITE = "Use python to save hello to data.txt";
const SLEEP = "Run this python code: import time\ntime.sleep(60)";
const ECHO = "Run this command: echo hello";

const user = (content: string) => [{ role: "user", content }];
const GREEDY = { temperature: 0, max_tokens: 200 };
const chat = (words: string, extra: object) => ({ ...GREEDY, messages: user(words), ...extra });
const INTERPRETER = { tools: [{ type: "code_interpreter" }] };

function post(server: Server, path: string, body: object): Promise<Response> {
  return postJson(server.url + path, body);
}

const CHAT = "/v1/chat/completions";

describeWith("python3")("Python", () => {
  const server = fileServer(["--enable-code-execution"]);

  test("runs, and the answer holds what it printed: chat", async () => {
    const body = await (await post(server(), CHAT, chat(COMPUTE, INTERPRETER))).json();
    expect(body).toMatchObject({
      choices: [{ finish_reason: "stop", message: { content: "The result is: 391" } }],
      agentic_tool_calls: [
        {
          round: 1,
          name: "svc_execute_python",
          arguments: '{"code": "print(17*23)"}',
          result_content: "stdout: 391\n",
        },
      ],
      session_id: expect.any(String),
    });
  });

  test("runs, and the answer holds what it printed: Responses", async () => {
    const request = { input: COMPUTE, temperature: 0, tools: [{ type: "code_interpreter" }] };
    const body = await (await post(server(), "/v1/responses", request)).json();
    expect(body.status).toBe("completed");
    expect(JSON.stringify(body.output)).toContain("The result is: 391");
  });

  test("runs, and the answer holds what it printed: messages", async () => {
    const request = { ...GREEDY, messages: user(COMPUTE), enable_code_execution: true };
    const body = await (await post(server(), "/v1/messages", request)).json();
    expect(body).toMatchObject({ stop_reason: "end_turn", session_id: expect.any(String) });
    expect(JSON.stringify(body.content)).toContain("The result is: 391");
  });

  test("leaves a file behind that is announced, stored and fetched by its id", async () => {
    const response = await post(server(), CHAT, chat(WRITE, { ...INTERPRETER, stream: true }));
    const { events } = parseSse(await response.text());
    const made = events.find(({ event }) => event === "file_produced");
    const file = JSON.parse(made?.data ?? "");
    expect(file).toMatchObject({ name: "data.txt", text: "hello", source: { tool: "svc_execute_python" } });
    const content = await fetch(`${server().url}/v1/files/${file.id}/content`);
    expect(await content.text()).toBe("hello");
  });

  test("its file is cited in Responses", async () => {
    const request = { input: WRITE, temperature: 0, tools: [{ type: "code_interpreter" }] };
    const body = await (await post(server(), "/v1/responses", request)).json();
    const parts = body.output.flatMap((item: { content?: object[] }) => item.content ?? []);
    const [citation] = parts.flatMap((part: { annotations?: object[] }) => part.annotations ?? []);
    expect(citation).toMatchObject({ type: "container_file_citation", filename: "data.txt" });
    const path = `/v1/containers/${citation.container_id}/files/${citation.file_id}/content`;
    expect(await (await fetch(server().url + path)).text()).toBe("hello");
  });

  test("keeps its files for the session", async () => {
    const session = { ...INTERPRETER, session_id: "lasting", enable_thinking: false };
    await post(server(), CHAT, chat(WRITE, session));
    const read = chat("Use python to read the file data.txt", session);
    expect(await (await post(server(), CHAT, read)).json()).toMatchObject({
      agentic_tool_calls: [{ result_content: "stdout: hello\n" }],
    });
  });

  test("a fork of a session has the files of its turns, and an interpreter of its own", async () => {
    const { server: scripted, run } = await startCodeServer();
    const trunk = { session_id: "trunk" };
    const branch = { session_id: "branch" };
    await run("x = 40\nopen('kept.txt', 'w').write('kept')", trunk);
    await run("x = 41\nopen('later.txt', 'w').write('later')", trunk);
    const forked = await post(scripted, "/v1/sessions/trunk/fork", { turn: 0, ...branch });
    expect(await forked.json()).toMatchObject({ id: "branch", forked_from: "trunk", turn: 0 });
    const look =
      "import os\nprint([name for name in os.listdir() if name.endswith('.txt')], 'x' in globals())";
    expect(await run(look, branch)).toContain("['kept.txt'] False");
    await run("x = 1\nopen('kept.txt', 'w').write('changed')", branch);
    expect(await run("print(x, open('kept.txt').read())", trunk)).toContain("41 kept");
  });

  test("a required file that is not made is told by a placeholder", async () => {
    const request = chat(COMPUTE, { ...INTERPRETER, files: [{ name: "report.csv" }] });
    const body = await (await post(server(), CHAT, request)).json();
    expect(body.files).toMatchObject([{ name: "report.csv", bytes: 0, code: "not_produced" }]);
  });

  test("the shell is not switched on with it", async () => {
    const response = await post(server(), CHAT, chat(ECHO, { enable_shell: true }));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: "capability_disabled" } });
  });

  test("a client that leaves ends the code that runs", async () => {
    const client = new AbortController();
    const session = { ...INTERPRETER, session_id: "left", enable_thinking: false };
    const response = await postJson(
      server().url + CHAT,
      { ...chat(SLEEP, session), stream: true },
      { signal: client.signal },
    );
    const events = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
    let heard = "";
    while (!heard.includes('"calling"')) heard += (await events.read()).value ?? "";
    expect(heard).toContain("time.sleep(60)");
    client.abort();
    // Calls of a session are made one after another: this one would wait for the other to end.
    const next = await (await post(server(), CHAT, chat(COMPUTE, session))).json();
    expect(next.choices[0].message.content).toBe("The result is: 391");
  });

  test("the banner says what models can do", () => {
    expect(server().stderr()).toMatch(/ {2}tools +Python 3\.\S+ \(.*permission: auto\)/);
  });
});

describeWith("sh")("a shell that asks", () => {
  const server = fileServer(["--enable-shell", "--agent-permission", "ask"]);

  /** A streamed request whose approval is answered as soon as it is asked for. */
  async function asked(path: string, body: object, answer: object) {
    const response = await post(server(), path, { ...body, stream: true });
    const reading = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
    const approvals: Response[] = [];
    let text = "";
    let seen = 0;
    for (;;) {
      const { value, done } = await reading.read();
      if (done) return { approvals, ...parseSse(text), text };
      text += value;
      const ids = [...text.matchAll(/"approval_id":"(appr_[0-9a-f]{32})"/g)].map(([, id]) => id);
      for (const id of ids.slice(seen)) {
        approvals.push(await post(server(), `/v1/agent/approvals/${id}`, answer));
      }
      seen = ids.length;
    }
  }

  const approve = { decision: "approve" };
  const SHELL_CHAT = chat(ECHO, { enable_shell: true });

  test.each([
    ["chat", CHAT, SHELL_CHAT],
    ["Responses", "/v1/responses", { input: ECHO, temperature: 0, tools: [{ type: "shell" }] }],
  ])("waits for its approval: %s", async (_name, path, body) => {
    const { approvals, events, text } = await asked(path, body, approve);
    expect(approvals).toHaveLength(1);
    expect(await approvals[0]?.json()).toEqual({ status: expect.stringMatching(/^(resolved|queued)$/) });
    const order = events.map(({ event }) => event).filter((event) => event.startsWith("agentic"));
    expect(order).toEqual([
      "agentic_tool_call_progress",
      "agentic_tool_approval_required",
      "agentic_tool_call_progress",
    ]);
    expect(text).toContain('"stdout":"hello\\n"');
  });

  test("a remembered approval holds for the session and ends with it", async () => {
    const body = { ...SHELL_CHAT, session_id: "trusted" };
    const first = await asked(CHAT, body, { ...approve, remember_for_session: true });
    expect(first.approvals).toHaveLength(1);
    expect((await asked(CHAT, body, approve)).approvals).toHaveLength(0);
    await fetch(`${server().url}/v1/sessions/trusted`, { method: "DELETE" });
    expect((await asked(CHAT, body, approve)).approvals).toHaveLength(1);
  });

  test("a denied action is told to the model, which says so", async () => {
    const { text } = await asked(CHAT, SHELL_CHAT, { decision: "deny", message: "Not now." });
    const words = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, word]) => word).join("");
    expect(words).toBe("The action was denied, so I did not do it.");
    expect(text).toContain('"stderr":"Not now."');
  });

  test("an answer that is not streamed tells why nothing was done", async () => {
    const body = await (await post(server(), CHAT, SHELL_CHAT)).json();
    expect(body.choices[0].message.content).toBe("The action was denied, so I did not do it.");
    expect(JSON.parse(body.agentic_tool_calls[0].result_content)).toMatchObject({
      status: "denied",
      stderr: expect.stringContaining("streamed answer"),
    });
  });

  test("a server that stops does not wait for an approval that nobody gives", async () => {
    const response = await post(server(), CHAT, { ...SHELL_CHAT, stream: true });
    const reading = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
    let heard = "";
    while (!heard.includes("approval_required")) heard += (await reading.read()).value ?? "";
    server().kill("SIGTERM");
    expect(await server().exited).toBe(0);
  });
});

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

describe("a dispatch URL", () => {
  const server = fileServer(["--tool-dispatch-url", `http://127.0.0.1:${dispatch.port}/`]);
  const parameters = { type: "object", properties: { code: { type: "string" } }, required: ["code"] };
  const description = "Run Python code and return its output.";
  const tools = [{ type: "function", function: { name: "python", description, parameters } }];

  test("makes the calls of the client's functions, and the model answers with what it got", async () => {
    const body = await (await post(server(), CHAT, chat(COMPUTE, { tools }))).json();
    expect(body).toMatchObject({
      choices: [{ finish_reason: "stop", message: { content: "The result is: 391" } }],
      agentic_tool_calls: [{ round: 1, name: "python", result_content: "391" }],
      session_id: expect.any(String),
    });
    expect(dispatched).toEqual([{ name: "python", arguments: { code: "print(17*23)" } }]);
  });
});

describeWith("python3")("servers that share a folder for temporary files", () => {
  test("the sessions of a killed one are removed by the next; those of another that runs stay", async () => {
    const folder = newFolder();
    const options = { env: { TMPDIR: folder } };
    const session = { session_id: "kept", ...INTERPRETER };
    const withSession = async () => {
      const server = await startServer(["--enable-code-execution"], options);
      expect((await post(server, CHAT, chat(WRITE, session))).status).toBe(200);
      return server;
    };
    const running = () => readdirSync(folder).filter((name) => name.startsWith(".svc-run-"));
    const [other, killed] = [await withSession(), await withSession()];
    expect(running()).toHaveLength(2);
    killed.kill("SIGKILL");
    await killed.exited;
    const next = await startServer([], options);
    await until("the killed one's session is gone", () => running().length === 1);
    const body = await (
      await post(other, CHAT, chat("Use python to read the file data.txt", session))
    ).json();
    expect(JSON.stringify(body)).toContain("hello");
    await Promise.all([other.stop(), next.stop()]);
    await until("nothing is left", () => readdirSync(folder).length === 0);
  });
});

test("a server without tools says so", async () => {
  const server = await startServer();
  const response = await post(server, CHAT, chat(COMPUTE, INTERPRETER));
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: "capability_disabled", param: "tools[0]" } });
});
