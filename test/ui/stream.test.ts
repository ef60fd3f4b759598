// Streamed answers: bytes → events → the shown answer.

import { revealed } from "../../src/core/visible-text.ts";
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { readEvents } from "../../ui/api/read-events.ts";
import { type ChatEvent, chatEvents, type SentEvent } from "../../ui/api/chat-events.ts";
import { withDecision, applyEvent, expireApprovals, withDecisionsOf } from "../../ui/state/answer.ts";
import type { AssistantMessage, ToolPart } from "../../ui/state/conversation.ts";

const GOLDEN = join(import.meta.dir, "../fixtures/golden");

/** Golden stream of a named run. */
const golden = (name: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(readFileSync(join(GOLDEN, `chat-${name}.sse`)));

/** A stream of chunks with these lengths, and a last chunk with the rest. */
function inPieces(
  bytes: Uint8Array<ArrayBuffer>,
  lengths: readonly number[],
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start(controller) {
      let at = 0;
      for (const length of lengths) {
        if (at < bytes.length) controller.enqueue(bytes.slice(at, at + length));
        at += length;
      }
      if (at < bytes.length) controller.enqueue(bytes.slice(at));
      controller.close();
    },
  });
}

async function eventsOf(
  bytes: Uint8Array<ArrayBuffer>,
  lengths: readonly number[] = [],
): Promise<readonly ChatEvent[]> {
  return Array.fromAsync(readEvents(inPieces(bytes, lengths), new AbortController().signal));
}

const EMPTY: AssistantMessage = {
  id: "a",
  parent: "q",
  role: "assistant",
  model: "",
  parts: [],
  state: "running",
};

const answerOf = async (name: string): Promise<AssistantMessage> =>
  (await eventsOf(golden(name))).reduce(applyEvent, EMPTY);

const calling = (name: string, round = 1): ChatEvent => ({
  type: "tool",
  round,
  name,
  phase: "calling",
  data: { tool_type: "custom", arguments: name },
});
const complete = (name: string, content: string, round = 1): ChatEvent => ({
  type: "tool",
  round,
  name,
  phase: "complete",
  data: { tool_type: "custom", content },
});
const tools = ({ parts }: AssistantMessage): readonly ToolPart[] =>
  parts.filter((part) => part.type === "tool");

describe("reading a stream", () => {
  test("yields the same events for any chunking", async () => {
    const bytes = golden("text"); // has characters of 2 and 4 bytes
    const whole = await eventsOf(bytes);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 60 }), async (lengths) => {
        expect(await eventsOf(bytes, lengths)).toEqual([...whole]);
      }),
      { numRuns: 50 },
    );
  });

  test("ends with an error if the stream is incomplete", async () => {
    const bytes = golden("text");
    const events = await eventsOf(bytes.slice(0, bytes.length - 20));
    expect(events.at(-1)).toEqual({
      type: "error",
      code: "connection_lost",
      message: "The connection to the server was lost before the answer was complete.",
    });
  });

  test("a connection that breaks says what to do, and one that the user ended is no error", async () => {
    const broken = (): ReadableStream<Uint8Array<ArrayBuffer>> =>
      new ReadableStream({
        start: (controller) => controller.enqueue(golden("text").slice(0, 200)),
        pull: (controller) => controller.error(new TypeError("network error")),
      });
    const abort = new AbortController();
    const events = await Array.fromAsync(readEvents(broken(), abort.signal));
    expect(events.at(-1)).toMatchObject({ type: "error", code: "connection_lost" });
    abort.abort();
    expect(Array.fromAsync(readEvents(broken(), abort.signal))).rejects.toThrow("network error");
  });

  test("ignores unknown events", () => {
    expect(chatEvents({ event: "something_new", data: "{}" })).toEqual([]);
  });

  test("shows code and commands of an approval as plain text", () => {
    const approval = (args: unknown) =>
      chatEvents({
        event: "agentic_tool_approval_required",
        data: JSON.stringify({ approval_id: "appr_1", round: 1, tool: { label: "Tool" }, arguments: args }),
      })[0];
    expect(approval({ code: "1+1" })).toMatchObject({ arguments: "1+1" });
    expect(approval({ command: "ls" })).toMatchObject({ arguments: "ls" });
    expect(approval({ commands: ["ls", "pwd"] })).toMatchObject({ arguments: "ls\npwd" });
    expect(approval("{broken")).toMatchObject({ arguments: "{broken" });
    expect(
      approval({ path: "a.txt", edits: [{ oldText: "one\ntwo", newText: "three" }], dryRun: true }),
    ).toMatchObject({
      arguments: '--- a.txt\n+++ a.txt\n@@\n-one\n-two\n+three\n\n{\n  "dryRun": true\n}',
    });
    for (const args of [
      { edits: [{ oldText: "one" }] },
      { edits: [{ oldText: "one", newText: "two", run: "rm" }] },
      { oldText: "one", newText: 2 },
    ])
      expect(approval(args)).toMatchObject({ arguments: JSON.stringify(args, null, 2) });
    const hidden = { path: "a\n+b", file: "c", old_str: "one", new_str: "", oldText: "x", newText: "y" };
    expect(approval(hidden)).toMatchObject({
      arguments: `--- a\\n+b\n+++ a\\n+b\n@@\n-one\n\n${JSON.stringify({ file: "c", oldText: "x", newText: "y" }, null, 2)}`,
    });
    expect(approval({ path: "a" })).toMatchObject({ arguments: '{\n  "path": "a"\n}' });
  });
});

test("invisible characters of an approval are shown by code point", () => {
  expect(revealed("rm a\t# \u202eb\u2066c\u200b\u{e0041}\u3164\r\u001b[2K\n")).toBe(
    "rm a\t# ⟨U+202E⟩b⟨U+2066⟩c⟨U+200B⟩⟨U+E0041⟩⟨U+3164⟩⟨U+000D⟩⟨U+001B⟩[2K\n",
  );
  expect(revealed("print('größe', 'שלום', '日本')")).toBe("print('größe', 'שלום', '日本')");
});

describe("an answer", () => {
  test("of text", async () => {
    expect(await answerOf("text")).toMatchObject({
      state: "done",
      finish: "stop",
      parts: [{ type: "text", text: 'Héllo "you"\n🌍' }],
      figures: { promptTokens: 12, cachedTokens: 4, completionTokens: 8, reasoningTokens: 2, speed: 4 },
    });
  });

  test("of reasoning and text", async () => {
    expect((await answerOf("reasoning")).parts).toEqual([
      { type: "reasoning", text: "Let me\nthink" },
      { type: "text", text: "Yes" },
    ]);
  });

  test("that was truncated", async () => {
    expect(await answerOf("cut")).toMatchObject({ state: "done", finish: "length" });
  });

  test("that failed keeps its text", async () => {
    expect(await answerOf("failed")).toMatchObject({
      state: "failed",
      error: "the engine died",
      parts: [{ type: "text", text: "Hi" }],
    });
  });

  test("with functions that the server does not provide", async () => {
    const calls = (await answerOf("tools")).parts.filter((part) => part.type === "call");
    expect(calls.length).toBeGreaterThan(0);
    for (const { name, arguments: args } of calls) {
      expect(name).not.toBe("");
      expect(() => void JSON.parse(args)).not.toThrow();
    }
  });

  test("with server-side tools", async () => {
    const { parts } = await answerOf("agent");
    expect(parts.map(({ type }) => type)).toEqual(["reasoning", "tool", "files", "tool", "text"]);
    expect(parts[1]).toMatchObject({
      name: "svc_shell",
      input: { commands: ["ls"] },
      output: { stdout: "sum.csv\n", exit_code: 0 },
    });
    expect(parts[2]).toMatchObject({ files: [{ name: "sum.csv" }] });
  });

  test("that begins again replaces what was there, and continues what it is based on", () => {
    const text = (piece: string): ChatEvent => ({ type: "text", text: piece });
    const twice = [text("One"), { type: "begin" } as const, text("Two")].reduce(applyEvent, EMPTY);
    expect(twice.parts).toEqual([{ type: "text", text: "Two" }]);
    const base = [{ type: "text" as const, text: "Cut " }];
    const cut: AssistantMessage = { ...EMPTY, base, parts: base };
    const continued = [text("x"), { type: "begin" } as const, text("off")].reduce(applyEvent, cut);
    expect(continued.parts).toEqual([{ type: "text", text: "Cut off" }]);
  });

  test("that was stopped elsewhere says so", () => {
    const stopped = chatEvents({ event: "run_stopped", data: "{}" });
    expect(stopped.reduce(applyEvent, EMPTY).state).toBe("stopped");
  });

  test("matches results of one tool in call order", () => {
    const events = [
      calling("f"),
      calling("g"),
      calling("f"),
      complete("f", "1"),
      complete("g", "2"),
      complete("f", "3"),
    ];
    const found = tools(events.reduce(applyEvent, EMPTY));
    expect(found.map(({ name, output }) => [name, output?.content])).toEqual([
      ["f", "1"],
      ["g", "2"],
      ["f", "3"],
    ]);
  });

  test("does not match results of another round", () => {
    const found = tools([calling("f", 1), complete("f", "late", 2)].reduce(applyEvent, EMPTY));
    expect(found.map(({ round, output }) => [round, output?.content])).toEqual([
      [1, undefined],
      [2, "late"],
    ]);
  });
});

describe("an approval", () => {
  const asked: ChatEvent = {
    type: "approval",
    id: "appr_1",
    round: 1,
    label: "Shell command",
    arguments: "ls",
  };

  test("belongs to the pending call", () => {
    const answer = [calling("f"), complete("f", "1"), calling("g"), asked].reduce(applyEvent, EMPTY);
    expect(tools(answer).map(({ approval }) => approval?.decision)).toEqual([undefined, "pending"]);
  });

  test("is shown without a call if none was announced", () => {
    const answer = applyEvent(EMPTY, asked);
    expect(tools(answer)).toMatchObject([{ name: "Shell command", approval: { id: "appr_1" } }]);
  });

  test("is decided once", () => {
    const answer = withDecision([calling("f"), asked].reduce(applyEvent, EMPTY), "appr_1", "approve");
    expect(tools(expireApprovals(answer))[0]?.approval?.decision).toBe("approve");
  });

  test("is decided by its result where another device has answered", () => {
    const data = { tool_type: "custom", status: "denied" };
    const denied: ChatEvent = { type: "tool", round: 1, name: "f", phase: "complete", data };
    const decision = (last: ChatEvent) =>
      tools([calling("f"), asked, last].reduce(applyEvent, EMPTY))[0]?.approval?.decision;
    expect(decision(complete("f", "1"))).toBe("approve");
    expect(decision(denied)).toBe("deny");
  });

  test("keeps its decision when the answer begins again", () => {
    const before = [calling("f"), asked].reduce(applyEvent, EMPTY);
    const again = [{ type: "begin" } as const, calling("f"), asked].reduce(applyEvent, before);
    expect(tools(again)).toHaveLength(1);
    expect(tools(withDecisionsOf(again, before))[0]?.approval?.decision).toBe("pending");
    const known = withDecision(before, "appr_1", "deny");
    expect(tools(withDecisionsOf(again, known))[0]?.approval?.decision).toBe("deny");
  });

  test("expires with the answer", () => {
    const answer = expireApprovals([calling("f"), asked].reduce(applyEvent, EMPTY));
    expect(tools(answer)[0]?.approval?.decision).toBe("expired");
  });
});

test("each compaction of an answer is shown once, in its place", () => {
  const edit = (summary: string) => ({
    type: "compact_20260112",
    cleared_input_tokens: 90,
    summary,
    summarized_messages: 3,
    summary_input_tokens: 40,
    summary_output_tokens: 8,
  });
  const chunk = (...edits: readonly object[]): SentEvent => ({
    data: JSON.stringify({
      choices: [{ index: 0, delta: {}, finish_reason: null }],
      context_management: { applied_edits: edits },
    }),
  });
  const clear = { type: "clear_thinking_20251015", cleared_thinking_turns: 1, cleared_input_tokens: 5 };
  const events = [
    ...chatEvents(chunk(clear, edit("FACT 1"))),
    { type: "text", text: "He" } as const,
    ...chatEvents(chunk(clear, edit("FACT 1"), edit("FACT 2"))),
  ];
  const part = (summary: string) =>
    ({ type: "compaction", summary, replaced: 3, saved: 90, spent: 48 }) as const;
  const parts = [part("FACT 1"), { type: "text", text: "He" } as const, part("FACT 2")];
  expect(events.reduce(applyEvent, EMPTY).parts).toEqual(parts);
  const going = { ...EMPTY, parts, base: parts };
  expect(events.reduce(applyEvent, going).parts).toEqual([...parts, ...parts]);
});

test("what an answer waits for is told until its first word", () => {
  const chunk = (extra: object): SentEvent => ({ data: JSON.stringify({ choices: [], ...extra }) });
  const prompt = { total: 4300, cache: 24, processed: 1024, time_ms: 2000 };
  const waits = [
    chunk({ load_progress: { model: "m", progress: 0.426 } }),
    chunk({ prompt_progress: { ...prompt, processed: 0, queued_before: 2 } }),
    chunk({ prompt_progress: { ...prompt, processed: 24 } }),
    chunk({ prompt_progress: prompt }),
  ].flatMap(chatEvents);
  expect(waits).toEqual([
    { type: "wait", waitsFor: { type: "load", percent: 42 } },
    { type: "wait", waitsFor: { type: "queue", before: 2 } },
    { type: "wait", waitsFor: { type: "prompt", read: 24, total: 4300 } },
    { type: "wait", waitsFor: { type: "prompt", read: 1024, total: 4300, perSec: 500, secsLeft: 6.552 } },
  ]);
  const empty: AssistantMessage = { ...EMPTY, parts: [] };
  const waiting = waits.reduce(applyEvent, empty);
  expect(waiting.waitsFor).toMatchObject({ type: "prompt", read: 1024 });
  expect(applyEvent(waiting, { type: "text", text: "He" })).toEqual({
    ...empty,
    parts: [{ type: "text", text: "He" }],
  });
});
