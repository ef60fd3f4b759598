import { describe, expect, test } from "bun:test";
import { Drafter } from "../../src/worker/drafter.ts";
import { NgramIndex } from "../../src/worker/ngram-index.ts";

const tokens = (...list: number[]): Int32Array => Int32Array.from(list);

describe("n-gram index", () => {
  test("tells what followed the last three tokens before, the latest time", () => {
    const index = new NgramIndex();
    const text = tokens(1, 2, 3, 4, 5, 1, 2, 3, 6, 7, 9, 1, 2, 3);
    expect(index.continuation(text, 3)).toEqual(tokens(6, 7, 9));
    expect(index.continuation(text, 1)).toEqual(tokens(6));
  });

  test("guesses nothing for what stands there for the first time, or is too short", () => {
    const index = new NgramIndex();
    expect(index.continuation(tokens(), 4)).toEqual(tokens());
    expect(index.continuation(tokens(1, 2), 4)).toEqual(tokens());
    expect(index.continuation(tokens(1, 2, 3), 4)).toEqual(tokens());
    expect(index.continuation(tokens(1, 2, 3, 4), 4)).toEqual(tokens());
  });

  test("a repetition is guessed as far as it is known", () => {
    expect(new NgramIndex().continuation(tokens(8, 8, 8, 8), 4)).toEqual(tokens(8));
    expect(new NgramIndex().continuation(tokens(1, 2, 1, 2, 1), 4)).toEqual(tokens(2, 1));
  });

  test("never guesses what stands for a picture", () => {
    const index = new NgramIndex();
    expect(index.continuation(tokens(1, 2, 3, 4, -7, -7, 5, 1, 2, 3), 6)).toEqual(tokens(4));
  });

  test("grows with its sequence and stays right", () => {
    const index = new NgramIndex();
    const text = Int32Array.from({ length: 5000 }, (_, i) => (i * i) % 4093);
    for (let length = 1; length <= text.length; length += 7) {
      const known = text.subarray(0, length);
      const guess = index.continuation(known, 5);
      if (guess.length === 0) continue;
      const last = known.slice(-3).join();
      const at = Array.from(known, (_, i) => i).findLast(
        (i) => i < length - 3 && known.slice(i, i + 3).join() === last,
      );
      expect(guess).toEqual(known.slice((at ?? 0) + 3, (at ?? 0) + 8));
    }
    const twice = Int32Array.from([...text.subarray(0, 3000), ...text.subarray(0, 200)]);
    expect(new NgramIndex().continuation(twice, 8)).toEqual(text.slice(200, 208));
  });
});

describe("drafter", () => {
  const repeating = Int32Array.from({ length: 400 }, (_, i) => i % 50);

  test("drafts more where it is right, up to a bound", () => {
    const drafter = new Drafter();
    const first = drafter.draft(repeating, 100, 0.3).length;
    for (let i = 0; i < 30; i++) drafter.learn(1, true);
    const later = drafter.draft(repeating, 100, 0.3).length;
    expect(first).toBe(1);
    expect(later).toBe(12);
    expect(drafter.draft(repeating, 5, 0.3).length).toBe(5);
    expect(drafter.draft(repeating, 0, 0.3).length).toBe(0);
  });

  test("stops where it is wrong, but tries again now and then", () => {
    const drafter = new Drafter();
    let known = 200;
    let drafted = 0;
    for (; known < 400; known++) {
      const { length } = drafter.draft(repeating.subarray(0, known), 100, 0.3);
      drafted += length;
      if (length > 0) drafter.learn(0, false);
    }
    expect(drafted).toBeGreaterThan(3);
    expect(drafted).toBeLessThan(12);
  });

  test("does not draft where a guess costs what it saves", () => {
    const drafter = new Drafter();
    expect(drafter.draft(repeating.subarray(0, 100), 100, 1).length).toBe(1); // the first try
    expect(drafter.draft(repeating.subarray(0, 101), 100, 1).length).toBe(0);
  });
});
