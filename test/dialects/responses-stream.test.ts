import { describe, expect, test } from "bun:test";
import type { AnswerEvent } from "../../src/core/agent.ts";
import { ResponseBuilder } from "../../src/dialects/responses/builder.ts";
import { ResponseFold } from "../../src/dialects/responses/response.ts";
import { ResponseStream } from "../../src/dialects/responses/stream.ts";
import { fed, framed } from "../helpers/dialects.ts";
import { responseHead } from "../helpers/response-head.ts";
import { ACCEPTED, answer, end, FINISH, logprob, text } from "../helpers/run-events.ts";
import { parseSse } from "../helpers/sse.ts";

const newStream = (choices = 1) => new ResponseStream({ ...responseHead(), choices });

function streamed(events: readonly AnswerEvent[], choices = 1) {
  const frames = parseSse(framed(newStream(choices), events)).events;
  return frames.map(({ event, data }) => ({ event, data: JSON.parse(data) }));
}

function body(events: readonly AnswerEvent[], choices = 1) {
  return fed(new ResponseFold({ ...responseHead(), choices }), events).body();
}

const typesOf = (events: readonly AnswerEvent[]) => streamed(events).map(({ event }) => event);

test("event names equal types, sequence numbers have no gaps, and the last event has the body", () => {
  const events: readonly AnswerEvent[] = [
    ACCEPTED,
    { type: "reasoning", choice: 0, text: "hm" },
    { type: "tool_call_start", choice: 0, index: 0, id: "call_a", name: "find" },
    { type: "tool_call_args", choice: 0, index: 0, delta: "{}" },
    end("tool_calls"),
    FINISH,
  ];
  const frames = streamed(events);
  expect(frames.map(({ data }) => data.type)).toEqual(frames.map(({ event }) => event));
  expect(frames.map(({ data }) => data.sequence_number)).toEqual(frames.map((_, index) => index));
  expect(frames.at(-1)?.data.response).toEqual(body(events));
});

test("the answer names the model that accepted the run", () => {
  const accepted = { type: "accepted", promptTokens: 3, answeredBy: "small" } as const;
  const events: readonly AnswerEvent[] = [accepted, text("a"), end(), FINISH];
  expect(streamed(events).at(0)?.data.response.model).toBe("small");
  expect(body(events).model).toBe("small");
});

describe("log probabilities", () => {
  const tokens = [logprob("Hé", -0.5, ["H", -1])];
  const wire = [
    {
      token: "Hé",
      logprob: -0.5,
      bytes: [0x48, 0xc3, 0xa9],
      top_logprobs: [{ token: "H", logprob: -1, bytes: [0x48] }],
    },
  ];
  const events: readonly AnswerEvent[] = [
    ACCEPTED,
    { type: "reasoning", choice: 0, text: "hm", logprobs: [logprob("hm", -1)] },
    { type: "text", choice: 0, text: "Hé", logprobs: tokens },
    text("!"),
    end(),
    FINISH,
  ];

  test("are in deltas, in the done event and in the body; reasoning has none", () => {
    const given = streamed(events).flatMap(({ event, data }) =>
      data.logprobs === undefined ? [] : [[event, data.logprobs]],
    );
    expect(given).toEqual([
      ["response.output_text.delta", wire],
      ["response.output_text.delta", []],
      ["response.output_text.done", wire],
    ]);
    expect(body(events).output[1]).toMatchObject({ content: [{ text: "Hé!", logprobs: wire }] });
  });
});

describe("the ends", () => {
  test("token cap: the open item and the response are incomplete", () => {
    const events = [ACCEPTED, text("He"), end("length"), FINISH];
    const last = streamed(events).at(-1);
    expect(last?.event).toBe("response.incomplete");
    expect(last?.data.response).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      completed_at: null,
      output: [{ type: "message", status: "incomplete", content: [{ text: "He" }] }],
    });
  });

  test("token cap during reasoning: no message", () => {
    const events: readonly AnswerEvent[] = [
      ACCEPTED,
      { type: "reasoning", choice: 0, text: "hm" },
      end("length"),
      FINISH,
    ];
    expect(body(events).output).toMatchObject([{ type: "reasoning", status: "incomplete" }]);
  });

  test("empty answer: an empty message", () => {
    expect(body(answer()).output).toMatchObject([{ type: "message", content: [{ text: "" }] }]);
    expect(body([ACCEPTED, end("length"), FINISH]).output).toMatchObject([{ status: "incomplete" }]);
  });

  test("failure: an error event, then response.failed with the partial output", () => {
    const error = { code: "engine_failed", message: "the engine died", param: "model" } as const;
    const frames = streamed([ACCEPTED, text("Hi"), { type: "error", error }]);
    const told = { code: "engine_failed", message: "the engine died", type: "server_error" };
    expect(frames.slice(-2)).toMatchObject([
      {
        event: "error",
        data: { code: told.code, message: told.message, param: "model", error: { ...told, param: "model" } },
      },
      { event: "response.failed", data: { response: { status: "failed", error: told } } },
    ]);
    expect(frames.at(-1)?.data.response.output).toMatchObject([{ status: "incomplete" }]);
  });

  test("cancelled: reported as incomplete, and nothing follows", () => {
    const stream = newStream();
    stream.add(ACCEPTED);
    stream.builder.cancel();
    const [frame] = stream.take();
    expect(frame?.text).toStartWith("event: response.incomplete\n");
    expect(stream.builder.resource()).toMatchObject({
      status: "cancelled",
      incomplete_details: { reason: "interrupted" },
    });
    expect(stream.add(FINISH)).toBe("");
  });
});

test("the output has the items of all choices; the first choice continues the conversation", () => {
  const events = [ACCEPTED, text("b", 1), text("a"), text("B", 1), end("stop", 1), end("length"), FINISH];
  const builder = fed(new ResponseBuilder({ ...responseHead(), choices: 2 }), events);
  expect(builder.resource()).toMatchObject({
    status: "incomplete",
    output: [
      { status: "completed", content: [{ text: "bB" }] },
      { status: "incomplete", content: [{ text: "a" }] },
    ],
  });
  expect(builder.answer()).toMatchObject([{ content: [{ text: "a" }] }]);
});

describe("agent events", () => {
  const at = { round: 1, callId: "call_s", toolName: "svc_shell", arguments: "{not json" } as const;
  const calling: AnswerEvent = { type: "tool_calling", ...at, data: { tool_type: "shell", commands: ["x"] } };
  const complete = (data: object): AnswerEvent => ({
    type: "tool_complete",
    ...at,
    data: { tool_type: "shell", ...data },
    resultContent: "",
    images: [],
    fileIds: [],
  });

  test.each([
    [
      { exit_code: 3, stderr: "e" },
      { type: "exit", exit_code: 3 },
    ],
    [{ exit_code: null, timed_out: true }, { type: "timeout" }],
    [{ exit_code: null }, { type: "exit", exit_code: -1 }],
  ])("a shell call ends with %j", (data, outcome) => {
    const { output } = body([ACCEPTED, calling, complete(data), text("ok"), end(), FINISH]);
    expect(output.map(({ type, status }) => [type, status])).toEqual([
      ["shell_call", "completed"],
      ["shell_call_output", "completed"],
      ["message", "completed"],
    ]);
    expect(output[1]).toMatchObject({ call_id: "call_s", output: [{ outcome }] });
  });

  test("a shell call without result is incomplete", () => {
    const { output } = body([ACCEPTED, calling, text("ok"), end(), FINISH]);
    expect(output[0]).toMatchObject({ type: "shell_call", status: "incomplete" });
  });

  test("an approval request is sent between the events of the dialect", () => {
    const ask: AnswerEvent = {
      type: "approval_required",
      approvalId: "appr_1",
      sessionId: "s",
      round: 1,
      tool: { source: "built_in", kind: "shell", label: "Shell command" },
      arguments: {},
    };
    expect(typesOf([ACCEPTED, ask, text("ok"), end(), FINISH])).toContain("agentic_tool_approval_required");
  });

  test("files are cited by the next message, or by an empty one; failed files are not cited", () => {
    const file = {
      id: "file_1",
      name: "a.txt",
      bytes: 1,
      created_at: 1,
      purpose: "agent_output",
      source: { tool: "t", round: 1, turn: 0 },
    } as const;
    const made: AnswerEvent = { type: "file_produced", file };
    const missing: AnswerEvent = { type: "file_produced", file: { ...file, code: "not_produced" } };
    const cited = (events: readonly AnswerEvent[]) =>
      body([ACCEPTED, ...events, end(), FINISH]).output.flatMap((item) =>
        item.type === "message" ? item.content.map(({ annotations }) => annotations.length) : [],
      );
    expect(cited([text("a"), calling, made, missing, text("b")])).toEqual([0, 1]);
    expect(cited([text("a"), calling, made])).toEqual([0, 1]);
    expect(cited([missing, text("a")])).toEqual([0]);
  });
});

test("reasoning is its own summary where that is asked for", () => {
  const head = { ...responseHead().head, summarizes: true } as const;
  const stream = new ResponseStream({ ...responseHead(), head, choices: 1 });
  const reasoning = (said: string) => ({ type: "reasoning", choice: 0, text: said }) as const;
  const events = [ACCEPTED, reasoning("Hm"), reasoning("."), text("a"), end(), FINISH];
  const frames = parseSse(framed(stream, events)).events;
  const told = frames.map(({ data }) => JSON.parse(data)).filter(({ type }) => type.includes("summary"));
  expect(told.map(({ type, delta, text: whole, part }) => [type, delta ?? whole ?? part.text])).toEqual([
    ["response.reasoning_summary_part.added", ""],
    ["response.reasoning_summary_text.delta", "Hm"],
    ["response.reasoning_summary_text.delta", "."],
    ["response.reasoning_summary_text.done", "Hm."],
    ["response.reasoning_summary_part.done", "Hm."],
  ]);
  expect(stream.builder.resource().output[0]).toMatchObject({
    summary: [{ type: "summary_text", text: "Hm." }],
    content: [{ type: "reasoning_text", text: "Hm." }],
  });
});
