import { describe, expect, test } from "bun:test";
import type { RunEvent } from "../../src/core/run.ts";
import { chatAnswer, chatBody } from "../../src/dialects/chat/response.ts";
import { chatStream } from "../../src/dialects/chat/stream.ts";
import type { AnswerMeta } from "../../src/dialects/shared/answer.ts";
import { fed, framed } from "../helpers/dialects.ts";
import { ACCEPTED, answer, end, FINISH, logprob, text } from "../helpers/run-events.ts";
import { parseDoneStream } from "../helpers/sse.ts";

const META: AnswerMeta = {
  id: "chatcmpl-1",
  created: 1_700_000_000,
  model: 'a "model"',
  fingerprint: "svc-test",
};
const BASE = {
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1_700_000_000,
  model: 'a "model"',
  system_fingerprint: "svc-test",
};
const USAGE_BODY = {
  prompt_tokens: 12,
  completion_tokens: 8,
  total_tokens: 20,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 2 },
  avg_tok_per_sec: 8,
  avg_prompt_tok_per_sec: 24,
  avg_compl_tok_per_sec: 4,
  total_time_sec: 2.5,
  total_prompt_time_sec: 0.5,
  total_completion_time_sec: 2,
};

interface Options {
  readonly choices?: number;
  readonly includeUsage?: boolean;
}

function streamed(events: readonly RunEvent[], { choices = 1, includeUsage = false }: Options = {}): string {
  return framed(chatStream(META, { choices, includeUsage }), events);
}

function chunks(events: readonly RunEvent[], options?: Options): readonly unknown[] {
  return parseDoneStream(streamed(events, options));
}

function body(events: readonly RunEvent[], choices = 1, withLogprobs = false) {
  return chatBody(fed(chatAnswer({ choices }), events), META, withLogprobs);
}

const choice = (delta: object, reason: string | null = null, index = 0) => ({
  index,
  delta,
  finish_reason: reason,
});

const TOOL_RUN: readonly RunEvent[] = [
  ACCEPTED,
  { type: "reasoning", choice: 0, text: "Let me\nlook" },
  { type: "tool_call_start", choice: 0, index: 0, id: "call_a", name: "find" },
  { type: "tool_call_args", choice: 0, index: 0, delta: '{"q":' },
  { type: "tool_call_args", choice: 0, index: 0, delta: '"x"}' },
  { type: "tool_call_start", choice: 0, index: 1, id: "call_b", name: "stop" },
  { type: "tool_call_args", choice: 0, index: 1, delta: "{}" },
  end("tool_calls"),
  FINISH,
];

describe("chunks", () => {
  test("with include_usage: a separate final usage chunk, null in all others", () => {
    expect(chunks(answer("Hi"), { includeUsage: true })).toEqual([
      { ...BASE, choices: [choice({ role: "assistant", content: "" })], usage: null },
      { ...BASE, choices: [choice({ content: "Hi" })], usage: null },
      { ...BASE, choices: [choice({}, "stop")], usage: null },
      { ...BASE, choices: [], usage: USAGE_BODY },
    ]);
  });

  test("every choice starts with its role; the last one to end carries usage", () => {
    const events = [ACCEPTED, text("b", 1), end("length", 1), text("a", 0), end("stop", 0), FINISH];
    expect(chunks(events, { choices: 2 })).toEqual([
      { ...BASE, choices: [choice({ role: "assistant", content: "" }, null, 0)] },
      { ...BASE, choices: [choice({ role: "assistant", content: "" }, null, 1)] },
      { ...BASE, choices: [choice({ content: "b" }, null, 1)] },
      { ...BASE, choices: [choice({}, "length", 1)] },
      { ...BASE, choices: [choice({ content: "a" }, null, 0)] },
      { ...BASE, choices: [choice({}, "stop", 0)], usage: USAGE_BODY },
    ]);
  });
});

describe("log probabilities", () => {
  const tokens = [logprob("Hé", -0.5, ["H", -1]), { ...logprob("\uFFFD", -Infinity), bytes: [0xc3] }];
  const content = [
    {
      token: "Hé",
      logprob: -0.5,
      bytes: [0x48, 0xc3, 0xa9],
      top_logprobs: [{ token: "H", logprob: -1, bytes: [0x48] }],
    },
    { token: "\uFFFD", logprob: -9999, bytes: [0xc3], top_logprobs: [] },
  ];
  const reasoned: RunEvent = { type: "reasoning", choice: 0, text: "hm", logprobs: [logprob("hm", -1)] };
  const said: RunEvent = { type: "text", choice: 0, text: "Hé", logprobs: tokens };
  const events: readonly RunEvent[] = [ACCEPTED, reasoned, said, text("!"), end(), FINISH];

  test("are in content chunks, not in reasoning chunks", () => {
    expect(chunks(events).slice(1, -1)).toEqual([
      { ...BASE, choices: [choice({ reasoning_content: "hm" })] },
      { ...BASE, choices: [{ ...choice({ content: "Hé" }), logprobs: { content, refusal: null } }] },
      { ...BASE, choices: [choice({ content: "!" })] },
    ]);
  });

  test("are a list in the body if requested, even if empty, and null otherwise", () => {
    expect(body(events, 1, true).choices[0]?.logprobs).toEqual({ content, refusal: null });
    expect(body(answer("x"), 1, true).choices[0]?.logprobs).toEqual({ content: [], refusal: null });
    expect(body(answer("x")).choices[0]?.logprobs).toBeNull();
  });
});

describe("the end", () => {
  test("an error is in-band, after the final chunk of a finished choice", () => {
    const error = { code: "engine_failed", message: "the engine died" } as const;
    const events: readonly RunEvent[] = [ACCEPTED, text("Hi"), end(), { type: "error", error }];
    expect(chunks(events).slice(-2)).toEqual([
      { ...BASE, choices: [choice({}, "stop")] },
      { error: { code: "engine_failed", message: "the engine died", type: "server_error" } },
    ]);
  });
});

test("content is null only if the answer consists of tool calls", () => {
  expect(body(answer()).choices[0]?.message.content).toBe("");
  expect(body(TOOL_RUN).choices[0]?.message).toMatchObject({
    content: null,
    reasoning_content: "Let me\nlook",
  });
});

test("a fingerprint is on the last chunk of its choice, and on the choice of a body", () => {
  const run: RunEvent[] = [
    ACCEPTED,
    { type: "choice_end", choice: 0, reason: "stop", fingerprint: "0a1b" },
    FINISH,
  ];
  const [chunk] = chunks(run).slice(-1) as [{ choices: unknown[] }];
  expect(chunk.choices).toEqual([{ ...choice({}, "stop"), fingerprint: "0a1b" }]);
  expect(body(run).choices[0]).toMatchObject({ finish_reason: "stop", fingerprint: "0a1b" });
});
