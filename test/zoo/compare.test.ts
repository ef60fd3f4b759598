import { describe, expect, test } from "bun:test";
import { judge } from "./compare.ts";
import type { Answered, Drawn, Scored } from "./report.ts";

const drawn = (token: number, logprob: number): Drawn => ({ token, logprob, top: [[token, logprob]] });
const scored = (best: number, bestLogprob: number, logprob = bestLogprob): Scored => ({
  best,
  bestLogprob,
  logprobs: [logprob, logprob],
});
const answer = (...tokens: readonly Drawn[]): Answered => ({ prompt: [1, 2], tokens });
const judged = (
  ours: Answered,
  theirs: readonly Scored[],
  mixture = false,
  alone: readonly Answered[] = [],
) => judge({ answers: [ours], count: 0 }, [theirs], alone, mixture);

describe("an answer beside the reference", () => {
  test("passes where only rounding differs", () => {
    const verdict = judged(answer(drawn(5, -1), drawn(6, -2)), [scored(5, -1.01), scored(6, -2)]);
    expect(verdict).toMatchObject({ tokens: 2, outside: 0, passed: true });
    expect(verdict.rounding).toBeCloseTo(0.01);
  });

  test("fails at another probability, another choice, a missing score and NaN", () => {
    for (const theirs of [scored(5, -2), scored(9, -0.2, -1), scored(5, Number.NaN)])
      expect(judged(answer(drawn(5, -1)), [theirs])).toMatchObject({ outside: 1, passed: false });
    expect(judged(answer(drawn(5, -1)), []).passed).toBe(false);
    expect(judge({ answers: [], count: 0 }, [], [], false).passed).toBe(false);
  });

  test("passes at a near tie of two tokens", () => {
    expect(judged(answer(drawn(5, -1)), [scored(9, -0.98, -1)]).passed).toBe(true);
  });

  test("of a mixture may differ where it also does alone, seldom", () => {
    const ours = answer(...Array.from({ length: 20 }, (_, i) => drawn(i, i === 3 ? -3 : -1)));
    const theirs = ours.tokens.map(({ token }) => scored(token, -1));
    expect(judged(ours, theirs, false, [ours]).passed).toBe(false);
    expect(judged(ours, theirs, true, [])).toMatchObject({ outside: 1, explained: 0, passed: false });
    expect(judged(ours, theirs, true, [ours])).toMatchObject({ outside: 1, explained: 1, passed: true });
  });
});
