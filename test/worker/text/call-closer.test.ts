// When a call is completed: its way to the end is followed once the tokens left are little more than its length.

import { expect, test } from "bun:test";
import { CallCloser } from "../../../src/worker/text/call-closer.ts";
import type { Closing, Matcher } from "../../../src/worker/text/constraint-backend.ts";

const WORD = 9;
/** A quote, a bracket, the end of the answer. */
const WAY = [1, 2, 0];

/** A grammar of one text in brackets. `looks`: how often its end was searched. */
function textInBrackets(): Matcher & { looks: number } {
  let at = 0;
  const matcher = {
    looks: 0,
    accept: (token: number) => {
      if (token === WAY[at]) at++;
      else if (at > 0 || token !== WORD) return "rejected" as const;
      return "ok" as const;
    },
    closing: (): Closing => {
      matcher.looks++;
      return WAY.slice(at).map((token, i) => ({ token, texts: at + i === 0 ? 1 : 0 }));
    },
    clone: () => {
      const copy = textInBrackets();
      for (const token of WAY.slice(0, at)) copy.accept(token);
      return copy;
    },
    free: () => {},
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the closer uses of a matcher
  return matcher as unknown as Matcher & { looks: number };
}

/** The tokens of an answer whose model writes words as long as it may, within a cap. */
function answered(cap: number, matcher = textInBrackets()): readonly number[] {
  const closer = new CallCloser();
  const tokens: number[] = [];
  while (tokens.length < cap && tokens.at(-1) !== 0) {
    const may = tokens.includes(1) ? WAY[WAY.indexOf(tokens.at(-1) ?? 0) + 1] : WORD;
    const token = closer.next(matcher, cap - tokens.length) ?? may ?? 0;
    closer.take(token);
    expect(matcher.accept(token)).toBe("ok");
    tokens.push(token);
  }
  return tokens;
}

test.each([3, 4, 20, 40, 250])("an answer of %i tokens at most ends complete", (cap) => {
  expect(answered(cap).slice(-3)).toEqual(WAY);
});

test("the model has most of the tokens, and the end is searched a few times", () => {
  const matcher = textInBrackets();
  expect(answered(1000, matcher).length).toBeGreaterThan(975);
  expect(matcher.looks).toBeLessThan(10);
});

test("a cap below the way's length cuts as ever", () => {
  expect(answered(2)).toEqual([WORD, WORD]);
});

test("an end that is not found forbids nothing", () => {
  const closer = new CallCloser();
  const matcher = { ...textInBrackets(), closing: () => undefined };
  expect([100, 50, 10, 1].map((left) => closer.next(matcher, left))).toEqual(Array(4).fill(undefined));
});
