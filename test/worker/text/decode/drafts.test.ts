import { describe, expect, test } from "bun:test";
import { DraftLength } from "../../../../src/worker/text/decode/draft-length.ts";
import { GrammarHabits } from "../../../../src/worker/text/decode/grammar-habits.ts";
import { NgramIndex } from "../../../../src/worker/text/decode/ngram-index.ts";

const tokens = (...list: number[]): Int32Array => Int32Array.from(list);

describe("n-gram index", () => {
  test("returns the tokens after the latest earlier occurrence of the last three", () => {
    const index = new NgramIndex();
    const text = tokens(1, 2, 3, 4, 5, 1, 2, 3, 6, 7, 9, 1, 2, 3);
    expect(index.continuation(text, 3)).toEqual(tokens(6, 7, 9));
    expect(index.continuation(text, 1)).toEqual(tokens(6));
  });

  test("drafts nothing for a new n-gram, or for too few tokens", () => {
    const index = new NgramIndex();
    expect(index.continuation(tokens(), 4)).toEqual(tokens());
    expect(index.continuation(tokens(1, 2), 4)).toEqual(tokens());
    expect(index.continuation(tokens(1, 2, 3), 4)).toEqual(tokens());
    expect(index.continuation(tokens(1, 2, 3, 4), 4)).toEqual(tokens());
  });

  test("drafts a repetition as far as it is known", () => {
    expect(new NgramIndex().continuation(tokens(8, 8, 8, 8), 4)).toEqual(tokens(8));
    expect(new NgramIndex().continuation(tokens(1, 2, 1, 2, 1), 4)).toEqual(tokens(2, 1));
  });

  test("takes what another text says after the last eight tokens", () => {
    const index = new NgramIndex();
    const text = Int32Array.from({ length: 100 }, (_, i) => i);
    const end = text.slice(20, 28);
    expect(index.continuationOf(tokens(500, ...end), text, 3)).toEqual(tokens(28, 29, 30));
    expect(index.continuationOf(end.subarray(1), text, 3)).toEqual(tokens());
    expect(index.continuationOf(tokens(500, ...end.subarray(1)), text, 3)).toEqual(tokens());
    expect(index.continuationOf(text.slice(90), text, 3)).toEqual(tokens());
  });

  test("never drafts placeholders of an image", () => {
    const index = new NgramIndex();
    expect(index.continuation(tokens(1, 2, 3, 4, -7, -7, 5, 1, 2, 3), 6)).toEqual(tokens(4));
  });

  test("stays correct while its sequence grows", () => {
    const index = new NgramIndex();
    const text = Int32Array.from({ length: 5000 }, (_, i) => (i * i) % 4093);
    for (let length = 1; length <= text.length; length += 7) {
      const known = text.subarray(0, length);
      const draft = index.continuation(known, 5);
      if (draft.length === 0) continue;
      const last = known.slice(-3).join();
      const at = Array.from(known, (_, i) => i).findLast(
        (i) => i < length - 3 && known.slice(i, i + 3).join() === last,
      );
      expect(draft).toEqual(known.slice((at ?? 0) + 3, (at ?? 0) + 8));
    }
    const twice = Int32Array.from([...text.subarray(0, 3000), ...text.subarray(0, 200)]);
    expect(new NgramIndex().continuation(twice, 8)).toEqual(text.slice(200, 208));
  });
});

describe("draft length", () => {
  test("grows with the acceptance rate", () => {
    const draftLength = new DraftLength();
    const first = draftLength.worth(0.3);
    for (let i = 0; i < 30; i++) draftLength.learn(1, true);
    expect(first).toBe(1);
    expect(draftLength.worth(0.3)).toBeGreaterThan(12);
    expect(draftLength.worth(0)).toBe(Number.POSITIVE_INFINITY);
  });

  test("is 0 where drafts are rejected, with a probe now and then", () => {
    const draftLength = new DraftLength();
    let drafted = 0;
    for (let known = 200; known < 400; known++) {
      const wanted = draftLength.wanted(known, 0.3);
      if (wanted === 0) continue;
      drafted += wanted;
      draftLength.drafted(known);
      draftLength.learn(0, false);
    }
    expect(drafted).toBeGreaterThan(3);
    expect(drafted).toBeLessThan(12);
  });

  test("is 0 where a draft token costs as much as it saves", () => {
    const draftLength = new DraftLength();
    expect(draftLength.wanted(100, 1)).toBe(1); // the first try
    draftLength.drafted(100);
    expect(draftLength.wanted(101, 1)).toBe(0);
    expect(draftLength.worth(Number.POSITIVE_INFINITY)).toBe(0);
  });
});

describe("habits at the places of a grammar", () => {
  test("a token that came twice is sure, and is given up after two misses", () => {
    const habits = new GrammarHabits();
    expect(habits.expected(1)).toBeUndefined();
    habits.learn(1, 7);
    expect(habits.expected(1)).toEqual({ token: 7, isSure: false });
    for (let i = 0; i < 5; i++) habits.learn(1, 7);
    habits.learn(1, 8);
    expect(habits.expected(1)).toEqual({ token: 7, isSure: true });
    habits.learn(1, 8);
    expect(habits.expected(1)).toEqual({ token: 8, isSure: false });
  });

  test("the oldest places are forgotten", () => {
    const habits = new GrammarHabits();
    for (let place = 0; place < 10_000; place++) habits.learn(place, place);
    expect(habits.expected(0)).toBeUndefined();
    expect(habits.expected(9999)?.token).toBe(9999);
  });

  test("after a token without drafts, one is looked for now and then", () => {
    const habits = new GrammarHabits();
    for (let i = 0; i < 4; i++) {
      expect(habits.isBarren(5)).toBe(false);
      habits.looked(5, false);
    }
    const looks = Array.from({ length: 200 }, () => habits.isBarren(5)).filter((isBarren) => !isBarren);
    expect(looks.length).toBeGreaterThan(1);
    habits.looked(5, true);
    expect(habits.isBarren(5)).toBe(false);
  });
});
