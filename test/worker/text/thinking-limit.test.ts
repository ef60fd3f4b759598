// Caps that have no room for reasoning.

import { expect, test } from "bun:test";
import { skippedThinking } from "../../../src/worker/text/thinking-limit.ts";
import type { OutputFormat, ThinkingEnd } from "../../../src/worker/text/backend.ts";

const end = (text: string, tokens: number): ThinkingEnd => ({ text, tokens: new Int32Array(tokens) });
const FORMAT: OutputFormat = {
  thinks: true,
  thinkingStart: "<think>",
  thinkingStartTokens: new Int32Array(1),
  thinkingEnds: ["</think>"],
  thinkingCloses: [end("Enough.</think>", 9), end("</think>", 1)],
  thinkingSkip: [end("<think></think>", 2)],
  startsInReasoning: false,
  toolMarkers: [],
  toolMarkerTokens: new Int32Array(),
  stops: [],
  visibleTokens: new Set(),
  markup: [],
};
/** As gpt-oss has it, whose reasoning begins again, and is not to be turned off. */
const CHANNELS: OutputFormat = {
  ...FORMAT,
  thinkingStartTokens: new Int32Array(3),
  thinkingSkip: [end("<|channel|>final<|message|>", 3)],
  answerOpening: 5,
  reopens: true,
};
const least = (format: OutputFormat): readonly number[] =>
  Array.from({ length: 40 }, (_, cap) => cap).filter(
    (cap) => skippedThinking({ format, cap, stop: [] }, undefined) !== undefined,
  );
const span = (format: OutputFormat): readonly (number | undefined)[] => [
  least(format)[0],
  least(format).at(-1),
];

test("the answer begins at once where its cap has room for that, and none for tags, a thought and a word", () => {
  expect(span(FORMAT)).toEqual([3, 3]);
  expect(span(CHANNELS)).toEqual([4, 20]);
});

test("with thinking off, empty reasoning is for prompts that open it, and the opening of an answer for all", () => {
  expect(span({ ...FORMAT, thinks: false })).toEqual([undefined, undefined]);
  const opened = { ...FORMAT, thinks: false, startsInReasoning: true, thinkingSkip: [end("</think>", 1)] };
  expect(span(opened)).toEqual([2, 2]);
  expect(span({ ...CHANNELS, thinks: false })).toEqual([4, 20]);
});

test("never against a stop string, a grammar or a call that must be made", () => {
  const calls = {
    openers: [],
    judge: () => ({ type: "none" }) as never,
    fenced: false,
    required: true,
    framed: false,
  };
  const at = { format: CHANNELS, cap: 10, stop: [] };
  expect(skippedThinking({ ...at, stop: ["final"] }, undefined)).toBeUndefined();
  expect(skippedThinking(at, { mayGoOnWith: () => false })).toBeUndefined();
  expect(skippedThinking({ ...at, format: { ...CHANNELS, calls } }, undefined)).toBeUndefined();
  expect(skippedThinking(at, { mayGoOnWith: () => true })).toHaveLength(3);
});
