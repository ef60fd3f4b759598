// Loops in constrained answers: what is forbidden, and what is data.

import { expect, test } from "bun:test";
import { LoopBreaker } from "../../../src/worker/text/loop-breaker.ts";

/** Tokens by their text. */
const WORDS = ["time", "_", "local", "0", ",", '"', "a", "=", "null", " ", "b", "\n"];

/** The texts of tokens that may follow, of those that the grammar allows. */
function allowedAfter(pieces: readonly string[], grammar: readonly string[] = WORDS): readonly string[] {
  const breaker = new LoopBreaker();
  for (const piece of pieces) breaker.add(WORDS.indexOf(piece), Buffer.from(piece));
  const mask = new Uint32Array(2);
  for (const word of grammar) mask[0] = (mask[0] ?? 0) | (1 << WORDS.indexOf(word));
  breaker.forbid(mask);
  return WORDS.filter((_, token) => ((mask[0] ?? 0) >> token) & 1);
}

const copies = (piece: readonly string[], count: number) => Array.from({ length: count }, () => piece).flat();
const without = (word: string) => WORDS.filter((one) => one !== word);

test.each<[string, readonly string[], string | undefined]>([
  ["a syllable", copies(["time", "_", "local", "_"], 16), "time"],
  ["a syllable in its middle", [...copies(["time", "_", "local", "_"], 16), "time"], "_"],
  ["one token", copies(["="], 64), "="],
  ["one token less", copies(["="], 63), undefined],
  [
    "a long piece, often enough",
    copies(["time", "_", "local", " ", "a", " ", "b", " ", "0", "\n"], 8),
    "time",
  ],
  ["a long piece, seldom", copies(["time", "_", "local", " ", "a", " ", "b", " ", "0", "\n"], 6), undefined],
  ["zeros of a list", copies(["0", ","], 100), undefined],
  ["nulls of a list", copies(["null", ","], 100), undefined],
  ["strings of a list", copies(['"', "a", '"', ","], 100), undefined],
  ["words with commas", copies(["a", ",", " "], 40), "a"],
  ["no loop", copies(["a", "b"], 20).concat(["time"]), undefined],
  ["nothing", [], undefined],
])("%s", (_, pieces, forbidden) => {
  expect(allowedAfter(pieces)).toEqual(forbidden === undefined ? WORDS : without(forbidden));
});

test("the only token that a grammar allows is not forbidden", () => {
  expect(allowedAfter(copies(["="], 80), ["="])).toEqual(["="]);
  expect(allowedAfter(copies(["="], 80), ["=", "a"])).toEqual(["a"]);
});
