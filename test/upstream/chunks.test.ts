// How chunks of a stream are read: the ones that repeat a form, and those that arrive together.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { RunEvent } from "../../src/core/run.ts";
import { coalesced } from "../../src/upstream/coalesce.ts";
import { REPEATED_MISSES_MAX } from "../../src/upstream/limits.ts";
import { RepeatedChunks } from "../../src/upstream/repeated.ts";
import { EventReader } from "../../src/upstream/sse.ts";
import { readChunk, type WireChunk } from "../../src/upstream/wire.ts";

describe("a chunk that differs in its text alone", () => {
  const data = (delta: object, extra: object = {}, space = ""): string =>
    JSON.stringify({
      id: "c",
      choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...extra }],
    }).replaceAll('":', `":${space}`);
  const parsed = (text: string): WireChunk => readChunk(JSON.parse(text)) ?? {};

  test.each(["", " "])("is read as if it were parsed, %j after colons", (space) => {
    for (const field of ["content", "reasoning_content", "reasoning"]) {
      const repeated = new RepeatedChunks();
      const first = data({ [field]: "Hello" }, {}, space);
      repeated.learn(first, parsed(first));
      const second = data({ [field]: " there" }, {}, space);
      expect(repeated.read(second)).toEqual({ choices: [{ index: 0, delta: { [field]: " there" } }] });
    }
  });

  test("fields without a value, which some servers send with each text, change nothing; others do", () => {
    const after = (delta: object): WireChunk | undefined => {
      const repeated = new RepeatedChunks();
      const first = data({ content: "Hello", ...delta });
      repeated.learn(first, parsed(first));
      return repeated.read(data({ content: " there", ...delta }));
    };
    const empty = { role: null, reasoning_content: null, tool_calls: null, reasoning_details: null };
    expect(after(empty)).toEqual({ choices: [{ index: 0, delta: { content: " there" } }] });
    expect(after({ reasoning_details: [{ type: "reasoning.encrypted" }] })).toBeUndefined();
    expect(after({ refusal: "no" })).toBeUndefined();
  });

  test("what is read is never something else than what parsing gives", () => {
    const words = fc.array(fc.string({ unit: "grapheme", maxLength: 6 }), { minLength: 2, maxLength: 20 });
    const property = fc.property(words, fc.nat(5), (texts, odd) => {
      const repeated = new RepeatedChunks();
      for (const [at, text] of texts.entries()) {
        const extra = at === odd ? { finish_reason: "stop" } : {};
        const delta = at === odd + 2 ? { content: text, refusal: "no" } : { content: text };
        const one = data(delta, extra);
        const read = repeated.read(one);
        const { choices } = parsed(one);
        if (read === undefined) repeated.learn(one, parsed(one));
        else {
          expect(read.choices?.[0]?.delta).toEqual({ content: choices?.[0]?.delta?.content ?? "" });
          expect(choices?.[0]).toMatchObject({ index: 0, finish_reason: null, delta: { content: text } });
          expect(choices?.[0]?.delta?.refusal).toBeUndefined();
        }
      }
    });
    fc.assert(property, { numRuns: 500 });
  });

  test.each([
    ["a text that is escaped", data({ content: 'a"b' })],
    ["an end", data({ content: "x" }, { finish_reason: "stop" })],
    ["another choice", data({ content: "x" }, { index: 1 })],
    ["log probabilities", data({ content: "x" }, { logprobs: { content: [] } })],
    ["a tool call", data({ content: "x", tool_calls: [] })],
    ["a cut line", data({ content: "x" }).slice(0, -3)],
    ["nothing", ""],
  ])("%s is parsed", (_, other) => {
    const repeated = new RepeatedChunks();
    const first = data({ content: "Hello" });
    repeated.learn(first, parsed(first));
    expect(repeated.read(other)).toBeUndefined();
  });

  test("a server that puts something new into each chunk is given up", () => {
    const repeated = new RepeatedChunks();
    const one = (id: number): string =>
      JSON.stringify({ id, choices: [{ index: 0, delta: { content: "x" } }] });
    for (let id = 0; id <= REPEATED_MISSES_MAX; id++) {
      expect(repeated.read(one(id))).toBeUndefined();
      repeated.learn(one(id), parsed(one(id)));
    }
    expect(repeated.read(one(REPEATED_MISSES_MAX))).toBeUndefined();
  });
});

test("events are the same however their bytes are cut", () => {
  const lines = fc.array(
    fc.string({ unit: "grapheme", maxLength: 8 }).filter((text) => !/[\r\n]/.test(text)),
  );
  const property = fc.property(lines, fc.array(fc.nat(40)), (texts, cuts) => {
    const bytes = new TextEncoder().encode(
      `\uFEFF${texts.map((text) => `event: x\r\ndata: a${text}\n\n`).join("")}`,
    );
    const reader = new EventReader();
    const read: string[] = [];
    let from = 0;
    for (const size of [...cuts, bytes.byteLength]) {
      read.push(...reader.push(bytes.subarray(from, from + size)));
      from += size;
    }
    expect(read).toEqual(texts.map((text) => `a${text}`));
  });
  fc.assert(property, { numRuns: 500 });
});

test("deltas that arrive together are one event each place, in their order", () => {
  const text = (choice: number, words: string): RunEvent => ({ type: "text", choice, text: words });
  const logged: RunEvent = { type: "text", choice: 0, text: "c", logprobs: [] };
  expect(
    coalesced([
      { type: "reasoning", choice: 0, text: "h" },
      { type: "reasoning", choice: 0, text: "m" },
      text(0, "a"),
      text(0, "b"),
      logged,
      text(1, "x"),
      text(0, "d"),
      { type: "tool_call_args", choice: 0, index: 0, delta: "{" },
      { type: "tool_call_args", choice: 0, index: 0, delta: "}" },
      { type: "tool_call_args", choice: 0, index: 1, delta: "{}" },
    ]),
  ).toEqual([
    { type: "reasoning", choice: 0, text: "hm" },
    text(0, "ab"),
    logged,
    text(1, "x"),
    text(0, "d"),
    { type: "tool_call_args", choice: 0, index: 0, delta: "{}" },
    { type: "tool_call_args", choice: 0, index: 1, delta: "{}" },
  ]);
});
