import { expect, test } from "bun:test";
import { SseScanner, type Scanned } from "../../bench/sse-scan.ts";

function delta(fields: object): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta: fields, finish_reason: null }] })}\n\n`;
}

/** Sums over all pieces. */
function scan(pieces: readonly string[]): Scanned {
  const scanner = new SseScanner();
  const sum: Scanned = { tokens: 0, usageTokens: 0, promptTokens: 0, errors: 0, done: false };
  for (const piece of pieces) {
    const found = scanner.push(piece);
    sum.tokens += found.tokens;
    sum.usageTokens += found.usageTokens;
    sum.promptTokens += found.promptTokens;
    sum.errors += found.errors;
    sum.done ||= found.done;
  }
  return sum;
}

const ANSWER = [
  delta({ role: "assistant", content: null }),
  delta({ role: "assistant", content: "" }),
  ": keep-alive\n\n",
  delta({ content: "one" }),
  delta({ reasoning_content: "two" }),
  delta({ content: 'a "content":"quoted" text' }),
  delta({ content: '"' }),
  delta({ tool_calls: [{ index: 0, function: { name: "f", arguments: "" } }] }),
  delta({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] }),
  'data: {"choices":[],"usage":null}\n\n',
  'data: {"choices":[],"usage":{"completion_tokens":5,"prompt_tokens":9}}\n\n',
  "data: [DONE]\n\n",
].join("");

test("counts frames that carry text, reasoning or arguments, and reads usage", () => {
  expect(scan([ANSWER])).toEqual({ tokens: 5, usageTokens: 5, promptTokens: 9, errors: 0, done: true });
});

test("finds the same however the stream is cut", () => {
  for (let cut = 1; cut < ANSWER.length; cut++) {
    expect(scan([ANSWER.slice(0, cut), ANSWER.slice(cut)])).toEqual(scan([ANSWER]));
  }
});

test("counts errors inside the stream, but not the word error in a text", () => {
  expect(scan(['data: {"error":{"message":"engine lost"}}\n\n']).errors).toBe(1);
  expect(scan([delta({ content: 'data: {"error"' })]).errors).toBe(0);
});
