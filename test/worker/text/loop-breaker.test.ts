// Loops in constrained answers: what is forbidden, and what is data.

import { expect, test } from "bun:test";
import { LoopBreaker } from "../../../src/worker/text/loop-breaker.ts";

/** Tokens by their text. */
const WORDS = ["time", "_", "local", "0", ",", '"', "a", "=", "null", " ", "b", "\n"];

/** The texts of tokens that may not follow, of those that the grammar allows, after each of some beginnings of one answer. */
function forbiddenAfter(
  parts: readonly (readonly string[])[],
  grammar: readonly string[] = WORDS,
): readonly string[] {
  const breaker = new LoopBreaker();
  const mask = new Uint32Array(2);
  for (const part of parts) {
    for (const piece of part) breaker.add(WORDS.indexOf(piece), Buffer.from(piece));
    for (const word of grammar) mask[0] = (mask[0] ?? 0) | (1 << WORDS.indexOf(word));
    breaker.forbid(mask);
  }
  return grammar.filter((word) => (((mask[0] ?? 0) >> WORDS.indexOf(word)) & 1) === 0);
}

const copies = (piece: readonly string[], count: number) => Array.from({ length: count }, () => piece).flat();
const LONG = ["time", "_", "local", " ", "a", " ", "b", " ", "0", "\n"];

test.each<[string, readonly string[], readonly string[]]>([
  ["a syllable", copies(["time", "_", "local", "_"], 16), ["time", "_", "local"]],
  ["a syllable in its middle", [...copies(["time", "_", "local", "_"], 16), "time"], ["time", "_", "local"]],
  ["one token", copies(["="], 64), ["="]],
  ["one token less", copies(["="], 63), []],
  ["a long piece, often enough", copies(LONG, 7), ["time", "_", "local", "0", "a", " ", "b", "\n"]],
  ["a long piece, seldom", copies(LONG, 6), []],
  ["zeros of a list", copies(["0", ","], 100), []],
  ["nulls of a list", copies(["null", ","], 100), []],
  ["strings of a list", copies(['"', "a", '"', ","], 31), []],
  ["strings of a list without end", copies(['"', "a", '"', ","], 32), ['"']],
  ["words with commas", copies(["a", ",", " "], 40), [",", "a", " "]],
  ["no loop", copies(["a", "b"], 20).concat(["time"]), []],
  ["nothing", [], []],
])("%s", (_, pieces, forbidden) => {
  expect(forbiddenAfter([pieces])).toEqual(forbidden);
});

test("each loop of an answer is noticed earlier than the one before, down to eight tokens", () => {
  const first = copies(["a"], 64);
  const later = copies(["b"], 32);
  expect(forbiddenAfter([first, copies(["b"], 31)])).toEqual([]);
  expect(forbiddenAfter([first, later])).toEqual(["b"]);
  const third = copies(["="], 16);
  expect(forbiddenAfter([first, later, third])).toEqual(["=", "b"]);
  expect(forbiddenAfter([first, later, third, copies(["a"], 7)])).toEqual(["=", "b"]);
  expect(forbiddenAfter([first, later, third, copies(["a"], 8)])).toEqual(["a", "=", "b"]);
});

test("tokens of a second loop stay forbidden up to the next quote", () => {
  const loops = [copies(["a"], 64), copies(["b"], 32)];
  expect(forbiddenAfter([...loops, ["="]])).toEqual(["b"]);
  expect(forbiddenAfter([...loops, ["=", '"']])).toEqual([]);
});

test("the only tokens that a grammar allows are not forbidden", () => {
  expect(forbiddenAfter([copies(["="], 80)], ["="])).toEqual([]);
  expect(forbiddenAfter([copies(["="], 80)], ["=", "a"])).toEqual(["="]);
  expect(forbiddenAfter([copies(["a", "b"], 40)], ["a", "b"])).toEqual([]);
});
