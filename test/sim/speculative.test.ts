// Speculative decoding changes the number of steps of an answer, and nothing else. With a fake model that repeats itself.

import { countOf } from "../../src/core/histogram.ts";
import { describe, expect, test } from "bun:test";
import type { DecodeOutcome } from "../../src/worker/text/backend.ts";
import type { FakeDrafts, FakeOptions } from "../helpers/fake-backend.ts";
import { FakeGrammar } from "../helpers/fake-grammar.ts";
import { expectedText, OPTIONS, random, request, World } from "../helpers/world.ts";

const REPEATING = { ...OPTIONS, period: 7 };

function letters(chance: () => number, length: number): number[] {
  return Array.from({ length }, () => 97 + Math.floor(chance() * 26));
}

const MODEL = { max: 3, rightShare: 0.7 };

/** Draft sources: the sequence's own n-grams, or a draft model. */
const SOURCES: readonly (readonly [name: string, options: Partial<FakeOptions>])[] = [
  ["from n-grams", {}],
  ["from a draft model", { draft: MODEL }],
  [
    "from a draft model, with a cache that can only drop drafts, those of one sequence a pass",
    { draft: { ...MODEL, level: { rows: 128, sequences: 1 } }, reuse: "whole", slots: 8 },
  ],
  [
    "from a draft model, with recurrent states",
    {
      draft: { ...MODEL, level: { rows: 24, sequences: 8 } },
      reuse: "whole",
      slots: 8,
      states: "with cells",
    },
  ],
];

/** Of 400 runs each; SVC_SLOW_TESTS=1: 10,000 runs from each source. */
const SEEDS = Array.from({ length: process.env.SVC_SLOW_TESTS === "1" ? 25 : 4 }, (_, i) => i + 1);

describe.each(SOURCES)("seeded traffic with drafts %s", (_name, options) => {
  for (const seed of SEEDS) {
    test(`seed ${seed}: every answer is the one without batching, and some drafts are accepted`, () => {
      const chance = random(seed);
      const world = new World(
        { ...REPEATING, ...options, cells: seed % 2 === 0 ? 200 : 1024 },
        { drafts: "ngram" },
      );
      const asked = new Map<number, { prompt: number[]; maxTokens: number; adapter: number }>();
      const opening = letters(chance, 40);
      for (let id = 0; id < 400;) {
        if (chance() < 0.2) {
          const own = letters(chance, 1 + Math.floor(chance() * 60));
          const prompt = chance() < 0.5 ? [...opening, ...own] : own;
          const maxTokens = 1 + Math.floor(chance() * 80);
          const adapter = Math.floor(chance() * 2);
          asked.set(id, { prompt, maxTokens, adapter });
          world.add(id++, request(prompt, { maxTokens }), adapter);
        }
        world.stepAmongAborts(chance, id, 0.02);
      }
      world.drain();
      const { draftTokens, draftHits, draftLengths, draftAccepted } = world.engine.stats();
      expect([draftLengths.sum, draftAccepted.sum]).toEqual([draftTokens, draftHits]);
      expect(countOf(draftLengths)).toBe(countOf(draftAccepted));
      world.expectEmpty();
      for (const [id, { prompt, maxTokens, adapter }] of asked) {
        const { aborted, ended, text } = world.witness(id);
        if (aborted) continue;
        expect(ended?.type).toBe("finish");
        expect(text).toBe(expectedText(world.backend, prompt, maxTokens, adapter).text);
      }
      expect(draftHits).toBeGreaterThan(100);
      expect(draftTokens).toBeGreaterThan(draftHits);
    });
  }

  test("failed and full steps leave no draft behind", () => {
    const chance = random(7);
    const outcome = (): DecodeOutcome => (chance() < 0.1 ? "full" : chance() < 0.02 ? "failed" : "done");
    const world = new World({ ...REPEATING, ...options, outcome }, { drafts: "ngram" });
    for (let id = 0; id < 200; id++) {
      world.add(id, request(letters(chance, 30), { maxTokens: 60 }));
      for (let i = 0; i < 4; i++) world.engine.step(0);
    }
    world.drain();
    world.expectEmpty();
    const ends = [...world.witnesses.values()].map(({ ended }) => ended?.type);
    expect(ends.every((type) => type === "finish" || type === "error")).toBe(true);
    expect(ends).toContain("finish");
  });
});

describe("a draft model", () => {
  const prompt = letters(random(5), 20);

  function answer(rightShare: number): World {
    const world = new World({ ...OPTIONS, eogOneIn: 1e9, draft: { max: 3, rightShare } });
    world.add(1, request(prompt, { maxTokens: 200 }));
    world.drain();
    expect(world.witness(1).text).toBe(expectedText(world.backend, prompt, 200).text);
    return world;
  }

  test("whose drafts are mostly accepted saves steps", () => {
    const { backend, engine } = answer(0.95);
    const { draftTokens, draftHits } = engine.stats();
    expect(backend.steps).toBeLessThan(130); // 200 tokens
    expect(draftHits).toBeGreaterThan(0.8 * draftTokens);
    expect(backend.draftModel?.empty).toBeGreaterThan(0);
  });

  test("whose drafts are never accepted pauses, until a prompt arrives at an idle engine", () => {
    const world = answer(0);
    const model = world.backend.draftModel;
    expect(model?.pauses).toBe(1);
    expect(model?.follows).toBe(false);
    world.add(2, request(letters(random(6), 20), { maxTokens: 4 }));
    world.drain();
    expect(model?.follows).toBe(true);
  });

  test("stays paused for prompts that arrive while as many sequences run", () => {
    const world = new World({ ...OPTIONS, eogOneIn: 1e9, draft: { max: 3, rightShare: 0 } });
    const add = (id: number, maxTokens: number): void =>
      world.add(id, request(letters(random(id), 20), { maxTokens }));
    for (let id = 1; id <= 3; id++) add(id, 200);
    const model = world.backend.draftModel;
    for (let i = 0; i < 150; i++) world.engine.step(0);
    expect(model?.follows).toBe(false);
    add(4, 2);
    for (let i = 0; i < 5; i++) world.engine.step(0);
    expect(model?.follows).toBe(false);
    world.drain();
    expect(model?.pauses).toBe(1);
  });
});

describe("the time that a draft model takes", () => {
  /** Short answers, one after the other. */
  function talk(draft: FakeDrafts, runs: number): World {
    const world = new World({ ...OPTIONS, eogOneIn: 1e9, draft });
    for (let id = 0; id < runs; id++) {
      const prompt = letters(random(id), 20);
      world.add(id, request(prompt, { maxTokens: 40 }));
      world.drain();
      expect(world.witness(id).text).toBe(expectedText(world.backend, prompt, 40).text);
    }
    return world;
  }

  test("a model that saves more than it takes follows all passes", () => {
    const { backend } = talk({ max: 3, rightShare: 0.95, followMs: 0.05 }, 60);
    expect(backend.draftModel?.pauses).toBe(0);
    expect(backend.draftModel?.passes).toBe(backend.steps);
  });

  test("one whose tokens are never right is tried again, for a small share of all passes", () => {
    const { backend } = talk({ max: 3, rightShare: 0, followMs: 0.1 }, 150);
    expect(backend.draftModel?.pauses).toBeGreaterThan(1);
    expect(backend.draftModel?.passes).toBeLessThan(0.15 * backend.steps);
  });

  test("one that takes more than its right tokens save pauses", () => {
    const { backend } = talk({ max: 3, rightShare: 1, followMs: 4 }, 60);
    expect(backend.draftModel?.pauses).toBeGreaterThan(0);
    expect(backend.draftModel?.follows).toBe(false);
  });
});

/** Milliseconds of a pass by its rows, in order; beyond them as between the last two. */
function recorded(ms: readonly number[]): (rows: number) => number {
  const last = ms.at(-1) ?? 0;
  const slope = last - (ms.at(-2) ?? last);
  return (rows) => ms[rows - 1] ?? last + slope * (rows - ms.length);
}

/** Fewer rows than eight do not occur. */
function upToEight(ms: number): number[] {
  return Array.from({ length: 8 }, () => ms);
}

/** SmolLM2-135M Q4_1, sequences of 100 tokens, one thread with AVX-512; for two threads the widths that docs/decisions/211 names. */
const ONE_STREAM = listed(`3.33 3.45 3.47 3.48 3.8 4.18 4.59 4.83 5.87 6.23 6.8 7.25 7.64 8.12 8.55 9.06 9.98
  10.44 10.88 11.36 11.78 12.11 12.62 13.2 13.95 14.44 14.96 15.38 15.92 16.42 16.75 17.37 18.27`);
const EIGHT_STREAMS = [
  ...upToEight(6.05),
  ...listed(`6.88 7.36 7.81 8.34 8.78 9.48 9.8 10.41 11.26 11.77 12.22 12.71 13.23 13.51 13.79 14.49
    15.38 15.67 16.06 16.5 17.21 17.58 18.07 18.2 19.45 19.74 20.09 20.71 20.86 21.76 22.09 22.39`),
];
const TWO_THREADS = [...upToEight(7.3), ...Array.from({ length: 16 }, (_, i) => 9.4 + (3.7 / 15) * i)];

function listed(text: string): number[] {
  return text.split(/\s+/).map(Number);
}

describe("the time of passes with drafts", () => {
  interface Case {
    readonly streams: number;
    readonly passMs: (rows: number) => number;
  }

  /** Of all answers, in rounds of `streams` at once. `fresh`: of eight tokens, those that repeat nothing. */
  function time({ streams, passMs }: Case, drafts: "off" | "ngram", fresh: number): number {
    let passes = 0;
    const counted = (rows: number): number => {
      const ms = passMs(rows);
      passes += ms;
      return ms;
    };
    const sizes = { maxSeqs: 8, slots: 16, cells: 8192, batch: 64, ubatch: 64, contextTokens: 1024 };
    const options = { ...REPEATING, ...sizes, eogOneIn: 1e9, passMs: counted, fresh };
    const world = new World(options, { drafts });
    for (let id = 0; id < 4 * streams; id++) {
      world.add(id, request(letters(random(id), 40), { maxTokens: 200 }));
      if (id % streams === streams - 1) world.drain();
    }
    return passes;
  }

  /** Least speed where nothing, an eighth and three quarters of the tokens are fresh, as a multiple of that without drafts. */
  test.each([
    ["one stream", { streams: 1, passMs: recorded(ONE_STREAM) }, [4, 1.7, 0.99]],
    ["eight streams", { streams: 8, passMs: recorded(EIGHT_STREAMS) }, [1.15, 0.98, 0.98]],
    ["eight streams on two threads", { streams: 8, passMs: recorded(TWO_THREADS) }, [1.7, 1.05, 0.98]],
    [
      "eight streams, rows in blocks",
      { streams: 8, passMs: (rows: number) => 20 * Math.ceil(rows / 8) },
      [1, 0.98, 0.98],
    ],
    ["eight streams, cheap rows", { streams: 8, passMs: (rows: number) => 20 + rows / 4 }, [3, 1.5, 0.98]],
  ] as const)("%s: new text loses next to nothing, text that repeats gains", (_name, one, least) => {
    const speeds = [0, 1, 6].map((fresh) => time(one, "off", fresh) / time(one, "ngram", fresh));
    speeds.forEach((speed, i) => expect(speed).toBeGreaterThan(least[i] ?? 1));
  });
});

describe("the time of looks for drafts under a grammar", () => {
  const RUNS = 32;

  /** Milliseconds of answers of eight sequences at a time, and masks that passes waited for. */
  function time(drafts: "off" | "grammar", maskMs: number, fresh: number) {
    const grammar = new FakeGrammar(maskMs);
    const sizes = { maxSeqs: 8, slots: 16, cells: 8192, batch: 64, ubatch: 64, contextTokens: 1024 };
    const passMs = (rows: number): number => 20 + rows / 4;
    const world = new World({ ...REPEATING, ...sizes, eogOneIn: 1e9, passMs, fresh }, { drafts, grammar });
    for (let id = 0; id < RUNS; id++) {
      const constraint = { type: "regex", pattern: "[a-z]*" } as const;
      world.add(id, request(letters(random(1), 40), { maxTokens: 200, constraint }));
      if (id % 8 === 7) world.drain();
    }
    const texts = [...world.witnesses.values()].map(({ text }) => text);
    return { ms: world.clock, looks: grammar.looks, texts };
  }

  test.each([
    ["cheap ones that find much gain", 0.02, 0, 0.6, 1],
    ["dear ones are few", 4, 0, 1.2, 0.15],
    ["those that find little are few", 0.5, 5, 1.06, 0.2],
  ] as const)("%s", (_name, maskMs, fresh, most, share) => {
    const plain = time("off", maskMs, fresh);
    const drafted = time("grammar", maskMs, fresh);
    expect(drafted.texts).toEqual(plain.texts);
    expect(drafted.ms / plain.ms).toBeLessThan(most);
    expect(drafted.looks / (RUNS * 200)).toBeLessThan(share);
  });
});

describe("what an answer may lose by drafts", () => {
  const prompt = [...letters(random(8), 7), ...letters(random(8), 7), ...letters(random(8), 7)];

  /** Rows of the passes of an answer that repeats itself except in these steps, after others that did throughout. */
  function widths(freshSteps: readonly number[]): number[] {
    const rows: number[] = [];
    let fresh = 0;
    const options = {
      ...REPEATING,
      eogOneIn: 1e9,
      passMs: (n: number) => {
        rows.push(n);
        return 10 + n;
      },
      get fresh() {
        return fresh;
      },
    };
    const world = new World(options, { drafts: "ngram", prefixCacheN: 0 });
    for (let id = 0; id < 6; id++) {
      world.add(id, request(prompt, { maxTokens: 150 }));
      world.drain();
    }
    expect(Math.max(...rows.slice(-10))).toBeGreaterThan(20); // what drafts have saved they may cost
    world.add(6, request(prompt, { maxTokens: 150 }));
    while (world.witness(6).text === "") world.engine.step(0);
    rows.length = 0;
    for (let step = 0; step < 12; step++) {
      fresh = freshSteps.includes(step) ? 8 : 0;
      world.engine.step(0);
    }
    return rows;
  }

  test("the first draft is as wide as it may be wrong, and the next one pays for it", () => {
    const [right = 0, next = 0] = widths([]);
    expect(right).toBeLessThan(19); // 11 ms and one a row: a token and a half
    expect(right).toBeGreaterThan(10);
    expect(next).toBeGreaterThan(20);
    // A wrong token, three until its neighbours are known again, and a draft like the first.
    const [wrong = 0, ...others] = widths([0, 4]);
    expect(wrong).toBe(right);
    expect(others.slice(0, 3)).toEqual([1, 1, 1]);
    expect(others[3]).toBeLessThan(4);
  });
});

describe("one run with drafts", () => {
  const prompt = letters(random(3), 21);

  /** Steps that an answer takes, and what it says. */
  function answer(drafts: boolean, extra = {}): { steps: number; text: string; tokens: number } {
    const world = new World({ ...REPEATING, eogOneIn: 1e9 }, { drafts: drafts ? "ngram" : "off" });
    world.add(1, request(prompt, { maxTokens: 200, ...extra }));
    world.drain();
    const { text, ended } = world.witness(1);
    if (ended?.type !== "finish") throw new Error("it has not finished");
    const { steps } = world.backend;
    expect(world.engine.stats().decodeTokens).toBe(ended.usage.completionTokens);
    world.expectEmpty();
    return { steps, text, tokens: ended.usage.completionTokens };
  }

  test("takes fewer steps for the same answer", () => {
    const plain = answer(false);
    const drafted = answer(true);
    expect(drafted.text).toBe(plain.text);
    expect(drafted.tokens).toBe(plain.tokens);
    expect(drafted.steps).toBeLessThan(0.8 * plain.steps);
  });

  test("a stop string within an accepted draft ends it there", () => {
    const { text } = answer(false);
    const stop = [text.slice(150, 155)];
    expect(answer(true, { stop })).toMatchObject({ text: answer(false, { stop }).text });
  });

  test("the cap on tokens is met exactly", () => {
    for (let maxTokens = 1; maxTokens < 60; maxTokens++) {
      expect(answer(true, { maxTokens }).tokens).toBe(maxTokens);
    }
  });

  test("what a finished sequence of the same scope says is drafted when it is said again", () => {
    /** Steps of an answer, and of the same to the same question after it. */
    function steps(second: string): readonly number[] {
      const world = new World({ ...OPTIONS, eogOneIn: 1e9, cells: 1000 }, { drafts: "ngram" });
      const texts = ["first", second].map((scope, id) => {
        const before = world.backend.steps;
        world.add(id, request(prompt, { maxTokens: 200 }), undefined, scope);
        world.drain();
        return { text: world.witness(id).text, steps: world.backend.steps - before };
      });
      expect(new Set(texts.map(({ text }) => text)).size).toBe(1);
      return texts.map((one) => one.steps);
    }
    const [first = 0, again = 0] = steps("first");
    const [, other = 0] = steps("other");
    expect(again).toBeLessThan(0.5 * first);
    expect(other).toBe(first);
  });

  test("a cache that cannot be truncated gets no drafts", () => {
    const world = new World({ ...REPEATING, reuse: "whole" }, { drafts: "ngram" });
    world.add(1, request(prompt, { maxTokens: 100 }));
    world.drain();
    expect(world.engine.stats().draftTokens).toBe(0);
    expect(world.witness(1).text).toBe(expectedText(world.backend, prompt, 100).text);
  });
});
