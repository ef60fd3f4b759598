// Rules of the agent loop: passes, messages to the model between them, events for the client.

import { describe, expect, test } from "bun:test";
import type { AnswerEvent } from "../../src/core/agent.ts";
import { SERVER } from "../../src/core/caller.ts";
import { defined } from "../../src/core/defined.ts";
import { ServiceError } from "../../src/core/error.ts";
import { messageText } from "../../src/core/message.ts";
import type { RunEvent, RunRequest } from "../../src/core/run.ts";
import {
  asking,
  calling,
  calls,
  fakeTool,
  lastText,
  messagesOf,
  saying,
  scripted,
  testLoop,
} from "../helpers/agent.ts";
import { ACCEPTED, byHand, end, FINISH, text } from "../helpers/run-events.ts";

const CLIENT_TOOL = { name: "get_time", parameters: { type: "object", properties: {} }, strict: false };

const types = (events: readonly AnswerEvent[]) => events.map(({ type }) => type);
const said = (events: readonly AnswerEvent[]) =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("");

describe("a conversation without server tools", () => {
  test("is one run, passed through, without a session", async () => {
    const { generate, requests } = scripted(saying("Hi"));
    const loop = testLoop({ generate });
    const events = await loop.answer(asking());
    expect(events).toEqual([...saying("Hi")]);
    expect(loop.sessions.opened).toEqual([]);
    expect(requests[0]?.prompt).toMatchObject({ tools: [], toolChoice: { type: "none" } });
  });

  test("may have several choices", async () => {
    const { generate } = scripted([ACCEPTED, end("stop", 0), end("stop", 1), FINISH]);
    expect(types(await testLoop({ generate }).answer(asking({}, { choices: 2 })))).toContain("finish");
  });

  test("with a session_id is stored in that session", async () => {
    const { generate } = scripted(saying("Hi"));
    const loop = testLoop({ generate });
    const events = await loop.answer(asking({ sessionId: "mine" }));
    expect(types(events)).toEqual(["accepted", "session", "text", "choice_end", "finish"]);
    expect(loop.sessions.saved).toEqual([
      { id: "mine", turn: [{ role: "assistant", content: [{ type: "text", text: "Hi" }] }] },
    ]);
  });

  test("returns every call to the client, known or not", async () => {
    const { generate } = scripted(calling(["get_time", {}], ["invented", {}]));
    const loop = testLoop({ generate });
    const events = await loop.answer(asking({ sessionId: "s" }, { prompt: { tools: [CLIENT_TOOL] } }));
    expect(events.filter(({ type }) => type === "tool_call_start")).toHaveLength(2);
    expect(events.at(-2)).toEqual(end("tool_calls"));
  });
});

describe("a result that exceeds the context", () => {
  /** A model whose context holds so many characters: it calls a tool, and then answers. */
  function narrow(charsMax: number) {
    const prompts: number[] = [];
    const played = scripted(calling(["svc_fake", {}]), saying("Seen."));
    async function* generate(request: RunRequest): AsyncGenerator<RunEvent> {
      const chars = messagesOf(request).reduce((sum, message) => sum + messageText(message).length, 0);
      prompts.push(chars);
      if (chars <= charsMax) yield* played.generate(request, new AbortController().signal, SERVER);
      else yield { type: "error", error: { code: "context_length_exceeded", message: "too long" } };
    }
    return { generate, prompts, requests: played.requests };
  }
  const told = `begin${"x".repeat(50_000)}end`;
  const tool = () => fakeTool({ run: () => ({ text: told, data: { tool_type: "custom", content: told } }) });

  test("is shortened: the model answers, and the session stores the shortened result", async () => {
    const model = narrow(4000);
    const loop = testLoop({ generate: model.generate, tools: [tool()] });
    const events = await loop.answer(asking({ sessionId: "s" }));
    expect(types(events)).not.toContain("error");
    expect(said(events)).toBe("Seen.");
    const result = lastText(model.requests[1]);
    expect(result).toStartWith("begin");
    expect(result).toEndWith("end");
    expect(result).toContain(" bytes left out …]");
    expect(model.prompts.length).toBeLessThan(10);
    expect(JSON.stringify(loop.sessions.saved[0]?.turn)).toContain(" bytes left out …]");
  });

  test("ends the answer if nothing can be shortened, and completed calls are stored", async () => {
    const loop = testLoop({ generate: narrow(100).generate, tools: [tool()] });
    const events = await loop.answer(asking({ sessionId: "s" }));
    expect(types(events)).not.toContain("error");
    expect(events.at(-2)).toMatchObject({ type: "choice_end", reason: "length" });
    expect(loop.sessions.saved).toHaveLength(1);
  });

  test("a request that is too long without results is refused as usual", async () => {
    const loop = testLoop({ generate: narrow(1).generate, tools: [tool()] });
    expect(await loop.answer(asking())).toMatchObject([{ type: "error" }]);
  });
});

describe("rounds", () => {
  test("a call is executed, the model gets the result and answers", async () => {
    const tool = fakeTool();
    const thought: RunEvent = { type: "reasoning", choice: 0, text: "I need it." };
    const { generate, requests } = scripted(
      [ACCEPTED, thought, text("Let me see. "), ...calls(["svc_fake", { a: 1 }]), end("tool_calls"), FINISH],
      saying("It is ", "done."),
    );
    const loop = testLoop({ generate, tools: [tool] });
    const events = await loop.answer(asking());
    expect(tool.made).toEqual([{ a: 1 }]);
    expect(types(events)).toEqual([
      "accepted",
      "session",
      "reasoning",
      "text",
      "tool_calling",
      "tool_complete",
      "text",
      "text",
      "choice_end",
      "finish",
    ]);
    expect(said(events)).toBe("Let me see. It is done.");
    expect(messagesOf(requests[1]).slice(1)).toEqual([
      {
        role: "assistant",
        content: [{ type: "text", text: "Let me see. " }],
        reasoning: "I need it.",
        toolCalls: [{ id: "call_svc_fake_0", name: "svc_fake", arguments: '{"a":1}' }],
      },
      {
        role: "tool",
        toolCallId: "call_svc_fake_0",
        name: "svc_fake",
        content: [{ type: "text", text: "done" }],
      },
    ]);
  });

  test("events of a call have its data", async () => {
    const { generate } = scripted(calling(["svc_fake", { a: 1 }]), saying("ok"));
    const events = await testLoop({ generate, tools: [fakeTool()] }).answer(asking());
    const at = { round: 1, callId: "call_svc_fake_0", toolName: "svc_fake", arguments: '{"a":1}' };
    expect(events.filter(({ type }) => type.startsWith("tool_c"))).toEqual([
      { type: "tool_calling", ...at, data: { tool_type: "custom", arguments: '{"a":1}' } },
      {
        type: "tool_complete",
        ...at,
        data: { tool_type: "custom", content: "done" },
        resultContent: "done",
        images: [],
        fileIds: [],
      },
    ]);
  });

  test("usage and times add up over the passes", async () => {
    const { generate } = scripted(calling(["svc_fake", {}]), calling(["svc_fake", {}]), saying("ok"));
    const events = await testLoop({ generate, tools: [fakeTool()] }).answer(asking());
    expect(events.at(-1)).toEqual({
      type: "finish",
      usage: { promptTokens: 36, cachedTokens: 12, completionTokens: 24, reasoningTokens: 6 },
      timings: { promptSecs: 1.5, completionSecs: 6 },
    });
  });

  test("several calls of one round are executed in order and stay in one message", async () => {
    const order: string[] = [];
    const tools = ["svc_a", "svc_b"].map((name) =>
      fakeTool({
        name,
        run: async () => {
          await Promise.resolve();
          order.push(name);
          return { text: name, data: { tool_type: "custom" } };
        },
      }),
    );
    const { generate, requests } = scripted(calling(["svc_b", {}], ["svc_a", {}]), saying("ok"));
    const events = await testLoop({ generate, tools }).answer(asking());
    expect(order).toEqual(["svc_b", "svc_a"]);
    expect(events.flatMap((event) => (event.type === "tool_complete" ? event.round : []))).toEqual([1, 1]);
    const [, asked, ...results] = messagesOf(requests[1]);
    expect(asked?.toolCalls?.map(({ name }) => name)).toEqual(["svc_b", "svc_a"]);
    expect(results.map(({ name, toolCallId }) => [name, toolCallId])).toEqual([
      ["svc_b", "call_svc_b_0"],
      ["svc_a", "call_svc_a_1"],
    ]);
  });

  test("a required call applies to the first pass only", async () => {
    const { generate, requests } = scripted(calling(["svc_fake", {}]), saying("ok"));
    const required = { type: "required" } as const;
    await testLoop({ generate, tools: [fakeTool()] }).answer(
      asking({}, { prompt: { toolChoice: required } }),
    );
    expect(requests.map(({ prompt }) => prompt.type === "chat" && prompt.toolChoice)).toEqual([
      required,
      { type: "auto" },
    ]);
  });

  test("a choice among functions hides other functions but no server tools", async () => {
    const { generate, requests } = scripted(calling(["svc_fake", {}]), saying("ok"));
    const other = { ...CLIENT_TOOL, name: "other" };
    const toolChoice = { type: "named", names: ["get_time"], required: false } as const;
    const loop = testLoop({ generate, tools: [fakeTool()] });
    await loop.answer(asking({}, { prompt: { tools: [CLIENT_TOOL, other], toolChoice } }));
    for (const { prompt } of requests) {
      if (prompt.type !== "chat") throw new Error("not a chat");
      expect(prompt.tools.map(({ name }) => name)).toEqual(["svc_fake", "get_time"]);
      expect(prompt.toolChoice).toEqual({ type: "auto" });
    }
  });

  test("max_tokens is a cap on the whole answer", async () => {
    const { generate, requests } = scripted(calling(["svc_fake", {}]), saying("ok"));
    await testLoop({ generate, tools: [fakeTool()] }).answer(asking({}, { maxTokens: 30 }));
    expect(requests.map(({ maxTokens }) => maxTokens)).toEqual([30, 22]); // a pass of the script has 8
  });

  test("calls that use up max_tokens end the answer with length", async () => {
    const tool = fakeTool();
    const { generate, requests } = scripted(calling(["svc_fake", {}]));
    const events = await testLoop({ generate, tools: [tool] }).answer(asking({}, { maxTokens: 8 }));
    expect(requests).toHaveLength(1);
    expect(tool.made).toHaveLength(1);
    expect(events.at(-2)).toEqual(end("length"));
  });

  test("a call cut by the token cap is not executed", async () => {
    const tool = fakeTool();
    const { generate } = scripted([ACCEPTED, ...calls(["svc_fake", '{"a']), end("length"), FINISH]);
    const loop = testLoop({ generate, tools: [tool] });
    const events = await loop.answer(asking());
    expect(tool.made).toEqual([]);
    expect(types(events)).toEqual(["accepted", "session", "choice_end", "finish"]);
    expect(events.at(-2)).toEqual(end("length"));
    expect(loop.sessions.saved[0]?.turn).toEqual([{ role: "assistant", content: [] }]);
  });
});

describe("the cap on rounds", () => {
  test("when it is reached, the model answers without tools", async () => {
    const { generate, requests } = scripted(
      calling(["svc_fake", {}]),
      calling(["svc_fake", {}]),
      saying("Enough."),
    );
    const tool = fakeTool();
    const events = await testLoop({ generate, tools: [tool] }).answer(asking({ maxToolRounds: 2 }));
    expect(tool.made).toHaveLength(2);
    expect(requests[2]?.prompt).toMatchObject({ tools: [], toolChoice: { type: "none" } });
    expect(said(events)).toBe("Enough.");
    expect(events.at(-2)).toEqual(end("stop"));
  });

  test("further calls start no round", async () => {
    const { generate } = scripted(calling(["svc_fake", {}]), calling(["svc_fake", {}]));
    const tool = fakeTool();
    const events = await testLoop({ generate, tools: [tool] }).answer(asking({ maxToolRounds: 1 }));
    expect(tool.made).toHaveLength(1);
    expect(types(events).slice(-2)).toEqual(["choice_end", "finish"]);
    expect(events.at(-2)).toEqual(end("stop"));
  });

  test.each([
    ["the request's overrides the server's", 1, 3, 1],
    ["the server's by default", undefined, 2, 2],
    ["256 if neither sets one", undefined, undefined, 256],
  ])("%s", async (_name, request, server, rounds) => {
    const passes = Array.from({ length: rounds }, () => calling(["svc_fake", {}]));
    const { generate } = scripted(...passes, saying("ok"));
    const tool = fakeTool({ run: () => ({ text: `${tool.made.length}`, data: { tool_type: "custom" } }) });
    const loop = testLoop({
      generate,
      tools: [tool],
      ...defined({ maxToolRounds: server }),
    });
    await loop.answer(asking(defined({ maxToolRounds: request })));
    expect(tool.made).toHaveLength(rounds);
  });

  test("0 hides server tools and keeps the client's", async () => {
    const { generate, requests } = scripted(calling(["get_time", {}]));
    const loop = testLoop({ generate, tools: [fakeTool()] });
    const events = await loop.answer(asking({ maxToolRounds: 0 }, { prompt: { tools: [CLIENT_TOOL] } }));
    expect(requests[0]?.prompt).toMatchObject({ tools: [CLIENT_TOOL] });
    expect(types(events)).not.toContain("session");
    expect(events).toEqual([...calling(["get_time", {}])]);
  });

  test("tool_choice none hides everything", async () => {
    const { generate, requests } = scripted(saying("ok"));
    const loop = testLoop({ generate, tools: [fakeTool()] });
    const events = await loop.answer(asking({}, { prompt: { toolChoice: { type: "none" } } }));
    expect(requests[0]?.prompt).toMatchObject({ tools: [], toolChoice: { type: "none" } });
    expect(events).toEqual([...saying("ok")]);
  });
});

describe("calls of the client's functions", () => {
  test("end the loop and are streamed", async () => {
    const runs = byHand();
    const loop = testLoop({ generate: runs.generate, tools: [fakeTool()] });
    const events = loop.converse(
      asking({}, { prompt: { tools: [CLIENT_TOOL] } }),
      new AbortController().signal,
      SERVER,
    );
    const reading = events[Symbol.asyncIterator]();
    const first = reading.next();
    const run = await runs.next();
    run.emit(ACCEPTED);
    expect((await first).value).toEqual(ACCEPTED);
    expect((await reading.next()).value.type).toBe("session");
    // The pass is not over, and what it has said of the call is there already.
    run.emit({ type: "tool_call_start", choice: 0, index: 0, id: "call_1", name: "get_time" });
    expect((await reading.next()).value.type).toBe("tool_call_start");
    run.emit({ type: "tool_call_args", choice: 0, index: 0, delta: '{"zone' });
    expect((await reading.next()).value).toMatchObject({ delta: '{"zone' });
    run.emit({ type: "tool_call_args", choice: 0, index: 0, delta: '":1}' }, end("tool_calls"), FINISH);
    expect(
      (await Array.fromAsync({ [Symbol.asyncIterator]: () => reading })).map(({ type }) => type),
    ).toEqual(["tool_call_args", "choice_end", "finish"]);
    expect(loop.sessions.saved[0]?.turn).toEqual([
      {
        role: "assistant",
        content: [],
        toolCalls: [{ id: "call_1", name: "get_time", arguments: '{"zone":1}' }],
      },
    ]);
  });

  test("beside server calls: the server executes its own, the client gets only its own", async () => {
    const tool = fakeTool();
    const { generate, requests } = scripted(
      calling(["svc_fake", { a: 1 }], ["get_time", {}], ["svc_fake", { a: 2 }], ["get_time", { b: 3 }]),
    );
    const loop = testLoop({ generate, tools: [tool] });
    const events = await loop.answer(asking({}, { prompt: { tools: [CLIENT_TOOL] } }));
    expect(requests).toHaveLength(1);
    expect(tool.made).toEqual([{ a: 1 }, { a: 2 }]);
    const starts = events.flatMap((event) => (event.type === "tool_call_start" ? [event] : []));
    expect(starts.map(({ index, id }) => [index, id])).toEqual([
      [0, "call_get_time_1"],
      [1, "call_get_time_3"],
    ]);
    const deltas = events.flatMap((event) => (event.type === "tool_call_args" ? [event] : []));
    expect(deltas.map(({ index }) => index)).toEqual([0, 0, 1, 1]);
    expect(events.at(-2)).toEqual(end("tool_calls"));
    // The client answers its calls behind the last message, and the server's are answered before it.
    const turn = loop.sessions.saved[0]?.turn ?? [];
    expect(turn.map(({ role, toolCalls }) => [role, toolCalls?.map(({ name }) => name)])).toEqual([
      ["assistant", ["svc_fake", "svc_fake"]],
      ["tool", undefined],
      ["tool", undefined],
      ["assistant", ["get_time", "get_time"]],
    ]);
  });

  test("need no approval, even if the server denies all actions", async () => {
    const { generate } = scripted(calling(["get_time", {}]));
    const loop = testLoop({ generate, tools: [fakeTool()], permission: "deny" });
    const events = await loop.answer(asking({}, { prompt: { tools: [CLIENT_TOOL] } }));
    expect(types(events)).not.toContain("tool_calling");
    expect(events.at(-2)).toEqual(end("tool_calls"));
  });
});

describe("the model gets the failure of a call, and the loop continues", () => {
  const failing = (message: unknown) =>
    fakeTool({
      run: () => {
        throw message;
      },
    });

  test.each([
    ["an unknown tool", "svc_other", fakeTool(), "not_found", 'no tool is named "svc_other"'],
    ["invalid arguments", "svc_fake", fakeTool({ fault: () => "too many" }), "failed", "too many"],
    [
      "a failure",
      "svc_fake",
      failing(new ServiceError("invalid_request", "no such thing")),
      "failed",
      "no such thing",
    ],
    [
      "a bug",
      "svc_fake",
      failing(new Error("secret path")),
      "failed",
      "the tool failed with an internal server error",
    ],
  ])("%s", async (_name, called, tool, status, message) => {
    const { generate, requests } = scripted(calling([called, {}]), saying("ok"));
    const loop = testLoop({ generate, tools: [tool] });
    const events = await loop.answer(asking());
    const told = lastText(requests[1]);
    expect(JSON.parse(told)).toEqual({ error: message, tool: called, status });
    expect(said(events)).toBe("ok");
    expect(events.find(({ type }) => type === "tool_complete")).toMatchObject({
      data: { tool_type: "custom", content: told },
    });
  });

  test("a bug is logged", async () => {
    const { generate } = scripted(calling(["svc_fake", {}]), saying("ok"));
    const loop = testLoop({ generate, tools: [failing(new Error("secret path"))] });
    await loop.answer(asking());
    expect(loop.logged).toEqual([expect.stringContaining("secret path")]);
  });

  test("arguments that are not JSON reach the tool as text", async () => {
    const tool = fakeTool();
    const { generate } = scripted(calling(["svc_fake", "{a:"]), saying("ok"));
    await testLoop({ generate, tools: [tool] }).answer(asking());
    expect(tool.made).toEqual(["{a:"]);
  });
});

describe("what ends a loop early", () => {
  test("an engine error in a later pass ends the answer, and no session is stored", async () => {
    const error: RunEvent = { type: "error", error: { code: "engine_failed", message: "it died" } };
    const { generate } = scripted(calling(["svc_fake", {}]), [ACCEPTED, text("So"), error]);
    const loop = testLoop({ generate, tools: [fakeTool()] });
    const events = await loop.answer(asking());
    expect(events.at(-1)).toEqual(error);
    expect(events.filter(({ type }) => type === "finish" || type === "error")).toHaveLength(1);
    expect(loop.sessions.saved).toEqual([]);
  });

  test("a disconnect during a call aborts the tool", async () => {
    const client = new AbortController();
    const started = Promise.withResolvers<void>();
    const tool = fakeTool({
      run: (_args, _context, signal) => {
        started.resolve();
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(new Error("stopped"))),
        );
      },
    });
    const { generate, requests } = scripted(calling(["svc_fake", {}]));
    const loop = testLoop({ generate, tools: [tool] });
    const all = loop.answer(asking(), client.signal);
    await started.promise;
    client.abort();
    expect(types(await all)).toEqual(["accepted", "session", "tool_calling"]);
    expect(requests).toHaveLength(1);
    expect(loop.sessions.saved).toEqual([]);
  });

  test("a disconnect during a pass aborts the inference", async () => {
    const client = new AbortController();
    const runs = byHand();
    const loop = testLoop({ generate: runs.generate, tools: [fakeTool()] });
    const all = loop.answer(asking(), client.signal);
    const run = await runs.next();
    run.emit(ACCEPTED, text("So"));
    client.abort();
    await run.closed;
    expect(types(await all)).not.toContain("finish");
    expect(loop.sessions.saved).toEqual([]);
  });
});

describe("waiting for the model's facts, which size tool descriptions", () => {
  test("is skipped without server tools", async () => {
    const { generate } = scripted(saying("Hi"));
    const contextTokens = () => Promise.reject(new Error("nobody should ask"));
    expect(await testLoop({ generate, contextTokens }).answer(asking())).toEqual([...saying("Hi")]);
  });

  test("a load failure refuses the request", async () => {
    const { generate, requests } = scripted();
    const full = new ServiceError("queue_full", "too many wait for this model");
    const loop = testLoop({ generate, tools: [fakeTool()], contextTokens: () => Promise.reject(full) });
    expect(await loop.answer(asking()).catch((error: unknown) => error)).toBe(full);
    expect(requests).toEqual([]);
  });

  test("ends when the client disconnects", async () => {
    const client = new AbortController();
    const { generate } = scripted();
    const contextTokens = (_model: string, signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(new Error("left"))),
      );
    const all = testLoop({ generate, tools: [fakeTool()], contextTokens }).answer(asking(), client.signal);
    client.abort();
    expect(await all).toEqual([]);
  });
});

describe("refused requests", () => {
  const refusal = async (conversation: ReturnType<typeof asking>, tools = [fakeTool()]) => {
    const { generate } = scripted();
    const [thrown] = await Promise.allSettled([testLoop({ generate, tools }).answer(conversation)]);
    if (thrown.status === "rejected" && thrown.reason instanceof ServiceError) return thrown.reason;
    throw new Error("the request was accepted");
  };

  test("several choices with server tools", async () => {
    expect(await refusal(asking({}, { choices: 2 }))).toMatchObject({
      code: "contradictory_fields",
      param: "n",
      message: "n must be 1 together with tools that the server runs; got 2",
    });
  });

  test("several choices in a session", async () => {
    expect(await refusal(asking({ sessionId: "s" }, { choices: 2 }), [])).toMatchObject({ param: "n" });
  });

  test("a function with the name of a server tool", async () => {
    const clash = { ...CLIENT_TOOL, name: "svc_fake" };
    expect(await refusal(asking({}, { prompt: { tools: [clash] } }))).toMatchObject({
      code: "invalid_request",
      param: "tools",
    });
  });

  test("files that no tool can produce", async () => {
    expect(await refusal(asking({ files: [{ name: "a.csv" }] }))).toMatchObject({ param: "files" });
    const maker = fakeTool({ makesFiles: true });
    const hidden = asking({ files: [{ name: "a.csv" }], maxToolRounds: 0 });
    expect(await refusal(hidden, [maker])).toMatchObject({ param: "files" });
  });

  test("a required call without any tool", async () => {
    const must = asking({ maxToolRounds: 0 }, { prompt: { toolChoice: { type: "required" } } });
    expect(await refusal(must)).toMatchObject({ code: "invalid_request", param: "tool_choice" });
  });
});
