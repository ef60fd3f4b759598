// The real engine over fake memory that cannot be cut, but saved: states alone, as of recurrent models, and states with the
// cells before them, as of hybrid ones. The fake refuses a state in any other place than its own. Seeded.

import { describe, expect, test } from "bun:test";
import { type AdapterId, BASE_MODEL } from "../../src/core/adapter.ts";
import type { DecodeOutcome } from "../../src/worker/text/backend.ts";
import type { FakeOptions } from "../helpers/fake-backend.ts";
import { expectedText, OPTIONS, random, request, World } from "../helpers/world.ts";

/** Tokens that are no markup. */
function words(count: number, seed: number): number[] {
  return Array.from({ length: count }, (_, i) => 16 * ((i * 7 + seed) % 15) + 1 + ((i * seed) % 15));
}

function cached(world: World, id: number): number {
  const { ended } = world.witness(id);
  if (ended?.type !== "finish") throw new Error(`run ${id} did not finish`);
  return ended.usage.cachedTokens;
}

function ask(world: World, id: number, tokens: readonly number[], maxTokens = 5): void {
  world.add(id, request(tokens, { maxTokens }));
  world.drain();
  expect(world.witness(id).text).toBe(expectedText(world.backend, tokens, maxTokens).text);
}

const ROOMY = { ...OPTIONS, cells: 4096, contextTokens: 1024, eogOneIn: 1e9 };

describe.each(["alone", "with cells"] as const)("states %s", (states) => {
  const options: FakeOptions = { ...ROOMY, reuse: "whole", states, slots: 8 };

  test("turns without the last answer find the prompt before", () => {
    const world = new World(options);
    const found = [0, 1, 2, 3, 4].map((turn) => {
      ask(world, turn, words(200 + 60 * turn, 3), 16);
      return cached(world, turn);
    });
    expect(found).toEqual([0, 196, 256, 316, 376]);
    ask(world, 9, words(440, 3), 16); // regenerated
    expect(cached(world, 9)).toBe(436);
    expect(world.engine.stats()).toMatchObject({ checkpointsRestored: 5 });
    world.expectEmpty();
  });

  test("turns that begin with the last answer compute only what is new", () => {
    const world = new World({ ...options, contextTokens: 2048 });
    const tokens = words(200, 3);
    for (let turn = 0; turn < 20; turn++) {
      const before = world.backend.computedTokens;
      ask(world, turn, tokens, 40);
      const { text } = expectedText(world.backend, tokens, 40);
      // The last token of an answer is not computed with it.
      if (turn > 0) expect(world.backend.computedTokens - before).toBe(1 + 12 + 39);
      tokens.push(...Buffer.from(text, "latin1"), ...words(12, turn));
    }
    world.expectEmpty();
  });

  test("what opens the answer is left out where markup tells", () => {
    const world = new World(options);
    const opening = [16, 5, 7]; // markup, and what follows it
    ask(world, 1, [...words(200, 3), ...opening]);
    ask(world, 2, [...words(200, 3), 16, 8, 9, ...words(30, 4), ...opening]);
    expect(cached(world, 2)).toBe(200);
    world.expectEmpty();
  });

  test("users who come one after the other: the second parts from the first, the third finds the place", () => {
    const world = new World(options);
    for (const user of [1, 2, 3]) ask(world, user, [...words(300, 3), ...words(50, user + 5)]);
    expect([1, 2, 3].map((user) => cached(world, user))).toEqual([0, 0, 300]);
    world.expectEmpty();
  });

  test("users who come together compute their common beginning once", () => {
    const world = new World(options);
    const users = [1, 2, 3, 4, 5, 6, 7, 8];
    for (const user of users)
      world.add(user, request([...words(300, 3), ...words(50, user + 5)], { maxTokens: 5 }));
    world.drain();
    expect(users.map((user) => cached(world, user)).toSorted((a, b) => a - b)).toEqual([
      0, 300, 300, 300, 300, 300, 300, 300,
    ]);
    expect(world.backend.computedTokens).toBe(300 + 8 * 54);
    world.expectEmpty();
  });

  test("the choices of one request compute the prompt once", () => {
    const world = new World(options);
    world.add(1, request(words(200, 3), { maxTokens: 4, choices: 4 }));
    world.drain();
    expect(world.backend.computedTokens).toBe(196 + 4 * 7);
    world.expectEmpty();
  });

  test("an adapter that has gone leaves no states", () => {
    const world = new World(options);
    world.add(1, request(words(200, 3), { maxTokens: 4 }), 1);
    world.drain();
    world.engine.forgetAdapter(1);
    expect(world.engine.stats()).toMatchObject({ checkpoints: 0, checkpointBytes: 0 });
    world.add(2, request(words(260, 3), { maxTokens: 4 }), 1);
    world.drain();
    expect(cached(world, 2)).toBe(0);
    world.expectEmpty();
  });

  test("states stay within their bytes; without room there are none", () => {
    for (const checkpointBytes of [0, 40_000]) {
      const world = new World(options, { checkpointBytes });
      for (let id = 0; id < 12; id++) {
        ask(world, id, words(200 + 10 * id, id));
        expect(world.engine.stats().checkpointBytes).toBeLessThanOrEqual(checkpointBytes);
      }
      expect(world.engine.stats().checkpoints > 0).toBe(checkpointBytes > 0);
      world.expectEmpty();
    }
  });

  test("long prompts are saved on the way", () => {
    const world = new World(
      { ...options, cells: 16_384, contextTokens: 12_000 },
      { checkpointBytes: 1 << 24 },
    );
    const prompt = words(10_000, 3);
    ask(world, 1, prompt);
    expect(world.engine.stats().checkpoints).toBe(3);
    ask(world, 2, [...prompt.slice(0, 9000), ...words(100, 8)]);
    expect(cached(world, 2)).toBeGreaterThanOrEqual(8192);
    world.expectEmpty();
  });

  for (const seed of [1, 2, 3, 4, 5, 6]) {
    test(`seed ${seed}: turns, edits, aborts and failures; every run says what it would say alone`, () => {
      const chance = random(seed);
      const below = (n: number): number => Math.floor(chance() * n);
      const world = new World(
        {
          ...OPTIONS,
          reuse: "whole",
          states,
          slots: seed % 2 === 0 ? 8 : 10,
          cells: seed % 3 === 0 ? 300 : 1024,
          outcome: (): DecodeOutcome => {
            const kind = seed > 4 ? chance() : 1;
            return kind < 0.01 ? "full" : kind < 0.02 ? "failed" : "done";
          },
        },
        { checkpointBytes: seed % 2 === 0 ? 1 << 20 : 60_000 },
      );
      const histories = [20, 90, 160].map((n) => Array.from({ length: n }, () => below(256)));
      const asked = new Map<number, { prompt: number[]; maxTokens: number; adapter: AdapterId }>();
      for (let id = 0; id < 300;) {
        if (chance() < 0.4) {
          const history = histories[below(histories.length)] ?? [];
          const kept = chance() < 0.5 ? history : history.slice(0, below(history.length + 1));
          const prompt = [...kept, ...Array.from({ length: 1 + below(40) }, () => below(256))].slice(0, 220);
          histories[below(histories.length)] = prompt.length > 200 ? prompt.slice(0, 20) : prompt;
          const what = { prompt, maxTokens: 1 + below(20), adapter: chance() < 0.7 ? BASE_MODEL : 1 };
          asked.set(id, what);
          world.add(id++, request(prompt, { maxTokens: what.maxTokens }), what.adapter);
        }
        if (id > 0 && chance() < 0.05) {
          const victim = below(id);
          if (world.witness(victim).ended === undefined) world.abort(victim);
        }
        world.engine.step(0);
      }
      world.drain();
      const { prefixTokens, checkpointsRestored } = world.engine.stats();
      expect(checkpointsRestored).toBeGreaterThan(20);
      expect(prefixTokens).toBeGreaterThan(1000);
      world.expectEmpty();
      for (const [id, { prompt, maxTokens, adapter }] of asked) {
        const { aborted, ended, text } = world.witness(id);
        if (aborted || (seed > 4 && ended?.type === "error")) continue;
        expect(ended?.type).toBe("finish");
        expect(text).toBe(expectedText(world.backend, prompt, maxTokens, adapter).text);
      }
    });
  }
});
