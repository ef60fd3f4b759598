// What an engine process tells of runs in one message.

import { expect, test } from "bun:test";
import type { RunEvent } from "../../../src/core/run.ts";
import { Outbox } from "../../../src/worker/text/outbox.ts";

const text = (words: string, choice = 0): RunEvent => ({ type: "text", choice, text: words });
const reasoning = (words: string): RunEvent => ({ type: "reasoning", choice: 0, text: words });

function sent(...told: readonly (readonly [run: number, event: RunEvent])[]): [number, RunEvent][] {
  const outbox = new Outbox();
  for (const [run, event] of told) outbox.add(run, event);
  const { runs, events } = outbox.take();
  expect(outbox.isEmpty).toBe(true);
  return events.map((event, i) => [runs[i] ?? 0, event]);
}

test("pieces of one text are joined, those of several runs each to its own", () => {
  expect(sent([1, text("a")], [2, text("x")], [1, text("b")], [2, text("y")], [1, text("c")])).toEqual([
    [1, text("abc")],
    [2, text("xy")],
  ]);
});

test("whatever else a run says stays where it is", () => {
  const end: RunEvent = { type: "choice_end", choice: 0, reason: "stop" };
  const told: [number, RunEvent][] = [
    [1, reasoning("why")],
    [1, text("a")],
    [1, text("other", 1)],
    [1, text("b")],
    [1, end],
    [1, text("late", 1)],
  ];
  expect(sent(...told)).toEqual(told);
});

test("log probabilities stay with the piece that they came with", () => {
  const scored: RunEvent = {
    type: "text",
    choice: 0,
    text: "b",
    logprobs: [{ text: "b", bytes: [98], token: 98, logprob: -1, top: [] }],
  };
  const told: [number, RunEvent][] = [
    [1, text("a")],
    [1, scored],
    [1, text("c")],
  ];
  expect(sent(...told)).toEqual(told);
});

test("nothing is joined to what has been sent", () => {
  const outbox = new Outbox();
  outbox.add(1, text("a"));
  const first = outbox.take();
  outbox.add(1, text("b"));
  expect([first.events, outbox.take().events]).toEqual([[text("a")], [text("b")]]);
});
