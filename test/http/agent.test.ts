// An answer in rounds over HTTP: the bytes of its events, its body, approvals through their endpoint.

import { expect, test } from "bun:test";
import { pythonToolset } from "../../src/agent/tools/python.ts";
import { shellToolset } from "../../src/agent/tools/shell.ts";
import { SERVER } from "../../src/core/caller.ts";
import type { ChatCompletionChunkResponse } from "../../src/dialects/chat/schema.ts";
import type { RunEvent } from "../../src/core/run.ts";
import {
  calling,
  calls,
  messagesOf,
  saying,
  scripted,
  testLoop,
  type TestLoopOptions,
} from "../helpers/agent.ts";
import { chatBody, testApp, testStores } from "../helpers/app.ts";
import { CONFINED, fakePython, fakeShell, textFile } from "../helpers/executors.ts";
import { foldChunks } from "../helpers/fold-chunks.ts";
import { ACCEPTED, end, FINISH, text } from "../helpers/run-events.ts";
import { parseSse, type SseEvent } from "../helpers/sse.ts";

const CHAT = "/v1/chat/completions";
const INTERPRETER = { tools: [{ type: "code_interpreter" }] };

/** An application whose model plays a script and whose tools are there. */
function agentApp(passes: readonly (readonly RunEvent[])[], options: Partial<TestLoopOptions> = {}) {
  const { generate, requests } = scripted(...passes);
  const python = fakePython({ stdout: "391\n", files: [textFile("out.txt", "391")] });
  const shell = fakeShell({ stdout: "a.txt\n" });
  const toolsets = [
    pythonToolset(python, CONFINED),
    shellToolset({ shell, protection: CONFINED, resolveSkills: () => ({ skills: [] }) }),
  ];
  const loop = testLoop({ generate, toolsets, ...options });
  const { converse, approvals, files } = loop;
  const app = testApp(generate, { converse, answerApproval: approvals.answer, files });
  return { ...loop, app, python, shell, requests };
}

const CODE = { code: "print(17*23)" };
const TWO_PASSES = [
  [ACCEPTED, text("Let me see. "), ...calls(["svc_execute_python", CODE]), end("tool_calls"), FINISH],
  saying("It is 391."),
];

const named = (events: readonly SseEvent[]) => events.filter(({ event }) => event !== "message");
const chunks = (events: readonly SseEvent[]) =>
  events
    .filter(({ event, data }) => event === "message" && data !== "[DONE]")
    .map(({ data }): ChatCompletionChunkResponse => JSON.parse(data));

test("a stream has the events of a round in their order, and ends once", async () => {
  const { app } = agentApp(TWO_PASSES);
  const response = await app.post(CHAT, chatBody({ ...INTERPRETER, stream: true, session_id: "s" }));
  const { events } = parseSse(await response.text());
  expect(events.at(-1)?.data).toBe("[DONE]");
  expect(events.filter(({ data }) => data === "[DONE]")).toHaveLength(1);
  expect(named(events).map(({ event }) => event)).toEqual([
    "agentic_tool_call_progress",
    "file_produced",
    "agentic_tool_call_progress",
  ]);
  const [called, made, complete] = named(events).map(({ data }) => JSON.parse(data));
  const at = { type: "agentic_tool_call_progress", round: 1, tool_name: "svc_execute_python" };
  expect(called).toEqual({ ...at, phase: "calling", data: { tool_type: "code_execution", ...CODE } });
  expect(made).toMatchObject({ name: "out.txt", text: "391", purpose: "agent_output" });
  expect(complete).toEqual({
    ...at,
    phase: "complete",
    data: {
      tool_type: "code_execution",
      stdout: "391\n",
      working_directory: "/work",
      execution_time_ms: 3,
    },
  });
  const last = chunks(events).at(-1);
  expect(last).toMatchObject({
    session_id: "s",
    choices: [{ finish_reason: "stop" }],
    usage: { prompt_tokens: 24, completion_tokens: 16, total_time_sec: 5 },
  });
});

test("the folded stream is the body, which tells of calls and files too", async () => {
  const request = { ...INTERPRETER, session_id: "s" };
  const streamed = agentApp(TWO_PASSES).app.post(CHAT, chatBody({ ...request, stream: true }));
  const fold = foldChunks(chunks(parseSse(await (await streamed).text()).events));
  const body = await (await agentApp(TWO_PASSES).app.post(CHAT, chatBody(request))).json();
  expect(body.choices).toEqual(fold.choices);
  expect(body.usage).toEqual(fold.usage);
  expect(body).toMatchObject({
    choices: [{ message: { content: "Let me see. It is 391." }, finish_reason: "stop" }],
    session_id: "s",
    agentic_tool_calls: [
      {
        round: 1,
        name: "svc_execute_python",
        arguments: JSON.stringify(CODE),
        result_content: "stdout: 391\n",
        file_ids: [body.files[0].id],
      },
    ],
    files: [{ name: "out.txt", bytes: 3 }],
  });
});

test("a file that was made can be fetched by its id", async () => {
  const { app } = agentApp(TWO_PASSES);
  const body = await (await app.post(CHAT, chatBody(INTERPRETER))).json();
  const [{ id }] = body.files;
  expect(await (await app.request(`/v1/files/${id}/content`)).text()).toBe("391");
});

test("a client's call that is handed back looks the same in stream and body", async () => {
  const lookup = { type: "function", function: { name: "get_time" } };
  const request = { tools: [{ type: "code_interpreter" }, lookup] };
  const passes = [calling(["svc_execute_python", CODE], ["get_time", { zone: 1 }])];
  const streamed = agentApp(passes).app.post(CHAT, chatBody({ ...request, stream: true }));
  const { events } = parseSse(await (await streamed).text());
  const fold = foldChunks(chunks(events));
  const body = await (await agentApp(passes).app.post(CHAT, chatBody(request))).json();
  expect(body.choices).toEqual(fold.choices);
  expect(body.choices).toMatchObject([
    {
      finish_reason: "tool_calls",
      message: {
        content: null,
        tool_calls: [
          {
            id: "call_get_time_1",
            type: "function",
            function: { name: "get_time", arguments: '{"zone":1}' },
          },
        ],
      },
    },
  ]);
  expect(events.at(-1)?.data).toBe("[DONE]");
});

test("an error between the rounds ends a stream in-band and a body with its status", async () => {
  const error: RunEvent = { type: "error", error: { code: "model_unavailable", message: "gone" } };
  const passes = [calling(["svc_execute_python", CODE]), [error]];
  const streamed = agentApp(passes).app.post(CHAT, chatBody({ ...INTERPRETER, stream: true }));
  const { events } = parseSse(await (await streamed).text());
  expect(events.slice(-2).map(({ data }) => data)).toEqual([
    expect.stringContaining('"model_unavailable"'),
    "[DONE]",
  ]);
  const body = await agentApp(passes).app.post(CHAT, chatBody(INTERPRETER));
  expect(body.status).toBe(503);
  expect(await body.json()).toMatchObject({ error: { code: "model_unavailable" } });
});

test("a request that cannot be met has its status before anything runs", async () => {
  const { app, requests } = agentApp([]);
  const response = await app.post(CHAT, chatBody({ ...INTERPRETER, n: 2, stream: true }));
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: "contradictory_fields", param: "n" } });
  expect(requests).toEqual([]);
});

/** Reads frames of a stream one after another. */
function reader(response: Response) {
  const frames = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  return {
    /** The data of the next event of that name. */
    async next(name: string): Promise<Record<string, unknown>> {
      for (;;) {
        const end = rest.indexOf("\n\n");
        if (end === -1) {
          const { value, done } = await frames.read();
          if (done) throw new Error(`the stream ended before ${name}`);
          rest += value;
          continue;
        }
        const [event] = parseSse(rest.slice(0, end + 2)).events;
        rest = rest.slice(end + 2);
        if (event?.event === name) return JSON.parse(event.data);
      }
    },
    /** Reads to the end. */
    async drain(): Promise<void> {
      while (!(await frames.read()).done);
    },
    cancel: () => frames.cancel(),
  };
}

test("an action waits for its approval, which is remembered", async () => {
  const commands = { commands: ["ls"] };
  const passes = [calling(["svc_shell", commands]), calling(["svc_shell", commands]), saying("ok")];
  const { app, shell } = agentApp(passes, { permission: "ask" });
  const body = chatBody({ enable_shell: true, session_id: "s", stream: true });
  const stream = reader(await app.post(CHAT, body));
  const asked = await stream.next("agentic_tool_approval_required");
  expect(asked).toEqual({
    type: "agentic_tool_approval_required",
    approval_id: expect.stringMatching(/^appr_[0-9a-f]{32}$/),
    session_id: "s",
    round: 1,
    tool: {
      source: "built_in",
      kind: "shell",
      label: "Shell command",
      reach: { files: "reads and changes only this conversation's working folder", network: "none" },
    },
    arguments: commands,
  });
  expect(shell.asked).toEqual([]);
  const answered = await app.post(`/v1/agent/approvals/${String(asked["approval_id"])}`, {
    decision: "approve",
    remember_for_session: true,
  });
  expect(await answered.json()).toEqual({ status: expect.stringMatching(/^(resolved|queued)$/) });
  const complete = async () => {
    for (;;) {
      const progress = await stream.next("agentic_tool_call_progress");
      if (progress["phase"] === "complete") return progress;
    }
  };
  expect(await complete()).toMatchObject({ round: 1, data: { stdout: "a.txt\n", exit_code: 0 } });
  expect(await complete()).toMatchObject({ round: 2 });
  expect(shell.asked).toHaveLength(2);
});

test("what was remembered ends with the session", async () => {
  const passes = Array.from({ length: 3 }, () => [
    calling(["svc_shell", { commands: ["ls"] }]),
    saying("ok"),
  ]);
  const stores = testStores();
  const { app } = agentApp(passes.flat(), { permission: "ask", ...stores });
  const body = chatBody({ enable_shell: true, session_id: "s", stream: true });
  const asked = async () => {
    const { events } = parseSse(await (await app.post(CHAT, body)).text());
    return named(events).some(({ event }) => event === "agentic_tool_approval_required");
  };
  const first = reader(await app.post(CHAT, body));
  const { approval_id: id } = await first.next("agentic_tool_approval_required");
  const yes = { decision: "approve", remember_for_session: true };
  await app.post(`/v1/agent/approvals/${String(id)}`, yes);
  await first.drain();
  expect(await asked()).toBe(false);
  stores.sessions(SERVER).delete("s");
  const again = reader(await app.post(CHAT, body));
  await again.next("agentic_tool_approval_required");
  await again.cancel();
});

test("a denial reaches the model with its message", async () => {
  const passes = [calling(["svc_shell", { commands: ["ls"] }]), saying("Pity.")];
  const { app, shell, requests } = agentApp(passes);
  const body = chatBody({ enable_shell: true, agent_permission: "ask", stream: true });
  const stream = reader(await app.post(CHAT, body));
  const { approval_id: id } = await stream.next("agentic_tool_approval_required");
  await app.post(`/v1/agent/approvals/${String(id)}`, { decision: "deny", message: "Not now." });
  await stream.drain();
  expect(messagesOf(requests[1]).at(-1)?.content).toEqual([
    { type: "text", text: '{"status":"denied","exception":"Not now."}' },
  ]);
  expect(shell.asked).toEqual([]);
});

test("a stream that is cancelled takes its approval along", async () => {
  const { app, approvals } = agentApp([calling(["svc_shell", { commands: ["ls"] }])], { permission: "ask" });
  const stream = reader(await app.post(CHAT, chatBody({ enable_shell: true, stream: true })));
  const { approval_id: id } = await stream.next("agentic_tool_approval_required");
  await stream.cancel();
  expect(approvals.answer(String(id), { approved: true, remember: false }, SERVER)).toBe("not_found");
});
