import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import fc from "fast-check";
import type { AnswerEvent, FileObject } from "../../src/core/agent.ts";
import { MessagesResponse, MessagesStreamEvent } from "../../src/dialects/messages/answer.ts";
import type { AnswerView } from "../../src/dialects/messages/request.ts";
import { messagesBody } from "../../src/dialects/messages/response.ts";
import { messagesStream } from "../../src/dialects/messages/stream.ts";
import type { AnswerMeta } from "../../src/dialects/shared/answer.ts";
import { AnswerReducer } from "../../src/dialects/shared/answer-reducer.ts";
import { fed, framed } from "../helpers/dialects.ts";
import { foldMessages, messagesEvents } from "../helpers/fold-messages.ts";
import { ACCEPTED, answer, end, FINISH, text } from "../helpers/run-events.ts";
import { anyRun } from "../helpers/scripts.ts";

const META: AnswerMeta = {
  id: "msg_1",
  created: 1_700_000_000,
  model: 'a "model"',
  fingerprint: "svc-test",
};
const PLAIN: AnswerView = { countsCached: false, omitsThinking: false };
const CACHED: AnswerView = { ...PLAIN, countsCached: true };
const OMITTED: AnswerView = { ...PLAIN, omitsThinking: true };

const reasoning = (piece: string): AnswerEvent => ({ type: "reasoning", choice: 0, text: piece });
const call = (index: number, name: string): AnswerEvent => ({
  type: "tool_call_start",
  choice: 0,
  index,
  id: `call_${index}`,
  name,
});
const args = (index: number, delta: string): AnswerEvent => ({
  type: "tool_call_args",
  choice: 0,
  index,
  delta,
});

function streamed(events: readonly AnswerEvent[], view = PLAIN): string {
  return framed(messagesStream(META, view), events);
}

function body(events: readonly AnswerEvent[], view = PLAIN): MessagesResponse {
  return messagesBody(fed(new AnswerReducer(), events), META, view);
}

const TOOL_RUN: readonly AnswerEvent[] = [
  ACCEPTED,
  reasoning("Let me\n"),
  reasoning("look"),
  text("One moment."),
  call(0, "find"),
  args(0, '{"q":'),
  args(0, '"x"}'),
  call(1, "stop"),
  end("tool_calls"),
  FINISH,
];

const FILE: FileObject = {
  id: "file_1",
  name: "a.txt",
  bytes: 2,
  created_at: 1,
  purpose: "agent_output",
  source: { tool: "svc_execute_python", round: 1, turn: 0 },
  text: "hi",
};

const SERVER_CALL = { round: 1, callId: "c", toolName: "svc_execute_python", arguments: "{}" } as const;

/** A server-side tool round between two text deltas. */
const AGENT_RUN: readonly AnswerEvent[] = [
  ACCEPTED,
  { type: "session", sessionId: "sess_1" },
  text("I compute."),
  { type: "tool_calling", ...SERVER_CALL, data: { tool_type: "code_execution", code: "1" } },
  { type: "file_produced", file: FILE },
  {
    type: "tool_complete",
    ...SERVER_CALL,
    data: { tool_type: "code_execution", stdout: "1" },
    resultContent: "stdout: 1",
    images: [],
    fileIds: ["file_1"],
  },
  text("It is 1."),
  end(),
  FINISH,
];

const STOPPED: readonly AnswerEvent[] = [
  ACCEPTED,
  text("1, 2"),
  { type: "choice_end", choice: 0, reason: "stop", stop: ", 3" },
  FINISH,
];

describe("events", () => {
  test.each<[string, readonly AnswerEvent[], object]>([
    ["an end", answer("a"), { stop_reason: "end_turn", stop_sequence: null }],
    ["a cap", [ACCEPTED, end("length"), FINISH], { stop_reason: "max_tokens", stop_sequence: null }],
    ["a stop string", STOPPED, { stop_reason: "stop_sequence", stop_sequence: ", 3" }],
    ["tool calls", TOOL_RUN, { stop_reason: "tool_use", stop_sequence: null }],
  ])("report %s", (_, events, expected) => {
    expect(body(events)).toMatchObject(expected);
    expect(messagesEvents(streamed(events)).at(-2)).toMatchObject({ delta: expected });
  });
});

describe("usage", () => {
  const counted = { input_tokens: 12, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const told = { input_tokens: 8, cache_creation_input_tokens: 0, cache_read_input_tokens: 4 };

  test("reports the whole prompt in input_tokens, or cached tokens separately", () => {
    expect(body(answer("a")).usage).toMatchObject(counted);
    expect(body(answer("a"), CACHED).usage).toMatchObject(told);
    expect(messagesEvents(streamed(answer("a"), CACHED)).at(-2)).toMatchObject({ usage: told });
  });
});

describe("omitted thinking", () => {
  test("is a signed block without text", () => {
    const empty = { type: "thinking", thinking: "", signature: "svc" };
    expect(body(TOOL_RUN, OMITTED).content[0]).toEqual(empty as MessagesResponse["content"][number]);
    const whole = streamed(TOOL_RUN, OMITTED);
    expect(whole).not.toContain("thinking_delta");
    expect(foldMessages(whole)).toEqual(body(TOOL_RUN, OMITTED));
  });
});

describe("fold of the stream equals the body", () => {
  test("a stop string", () => expect(foldMessages(streamed(STOPPED))).toEqual(body(STOPPED)));

  test("any run, and both match their schemas", () => {
    fc.assert(
      fc.property(anyRun(), fc.boolean(), fc.boolean(), (run, countsCached, omitsThinking) => {
        const view = { countsCached, omitsThinking };
        const events = run.events.filter((event) => !("choice" in event) || event.choice === 0);
        const whole = streamed(events, view);
        expect(foldMessages(whole)).toEqual(body(events, view));
        expect(Value.Check(MessagesResponse, body(events, view))).toBe(true);
        for (const event of messagesEvents(whole)) expect(Value.Check(MessagesStreamEvent, event)).toBe(true);
      }),
    );
  });

  test("the body of a server-side tool round has two texts, the session and the file", () => {
    expect(body(AGENT_RUN)).toMatchObject({
      content: [
        { type: "text", text: "I compute." },
        { type: "text", text: "It is 1." },
      ],
      session_id: "sess_1",
      files: [FILE],
    });
  });
});
