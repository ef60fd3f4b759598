// The real engine against the fake backend: thousands of arrivals of random length, random aborts, short caches, failing
// steps. Seeded; a failure names its seed.

import { describe, expect, test } from "bun:test";
import { countOf } from "../../src/core/histogram.ts";
import type { DecodeOutcome } from "../../src/worker/text/backend.ts";
import { expectedText, OPTIONS, random, request, World } from "../helpers/world.ts";

/** Steps until so many runs have ended; returns them in the order in which they did. */
function endsInOrder(world: World, runs: number): number[] {
  const order: number[] = [];
  while (order.length < runs) {
    world.engine.step(0);
    for (const [id, { ended }] of world.witnesses)
      if (ended !== undefined && !order.includes(id)) order.push(id);
  }
  return order;
}

describe("without what was computed before", () => {
  test("every token is computed from the whole sequence, and says what it would say with the cache", () => {
    const world = new World(OPTIONS, { prefixCacheN: 0, noKvCache: true });
    const prompts = [5, 40, 90].map((length) => Array.from({ length }, (_, i) => (7 * i + length) % 256));
    let rows = 0;
    prompts.forEach((prompt, id) => world.add(id, request(prompt, { maxTokens: 12 })));
    world.drain();
    prompts.forEach((prompt, id) => {
      const { text, reason } = expectedText(world.backend, prompt, 12);
      expect(world.witness(id)).toMatchObject({ text, ended: { type: "finish" } });
      const drawn = text.length + (reason === "stop" ? 1 : 0);
      for (let n = 0; n < drawn; n++) rows += prompt.length + n;
    });
    expect(world.engine.stats().prefillTokens).toBe(rows);
    world.expectEmpty();
  });
});

test("a prompt is reported step by step, from what the cache has to its end, before the first text", () => {
  const world = new World({ ...OPTIONS, batch: 32, ubatch: 32 });
  const prompt = Array.from({ length: 100 }, (_, i) => (7 * i) % 256);
  const wanted = { ...request(prompt, { maxTokens: 5 }), progress: true as const };
  world.add(0, wanted);
  world.drain();
  world.add(1, { ...wanted, choices: 2 });
  world.add(2, request(prompt, { maxTokens: 5 }));
  world.drain();
  const [first, second, third] = [0, 1, 2].map((id) => world.witness(id).prompts);
  expect(first?.[0]).toEqual([0, 0]);
  expect(first?.at(-1)).toEqual([100, 0]);
  expect(first?.length).toBeGreaterThan(3);
  expect(first?.map(([processed]) => processed)).toEqual(first?.map(([p]) => p).toSorted((a, b) => a - b));
  const [processed, cached] = second?.[0] ?? [-1, 0];
  expect(cached).toBeGreaterThan(0);
  expect(processed).toBe(cached ?? -1);
  expect(second?.at(-1)).toEqual([100, cached]);
  expect(third).toEqual([]);
});

test("requests that wait for a slot are told how many wait before them, each time that it changes", () => {
  const world = new World({ ...OPTIONS, maxSeqs: 1 });
  const wanted = { ...request([1, 2, 3], { maxTokens: 3 }), progress: true as const };
  for (const id of [0, 1, 2]) world.add(id, wanted);
  world.add(3, request([1, 2, 3], { maxTokens: 3 }));
  world.add(4, { ...wanted, choices: 2 });
  world.drain();
  expect([0, 1, 2, 3, 4].map((id) => world.witness(id).places)).toEqual([[], [0], [1, 0], [], [3, 2, 1, 0]]);
});

describe("seeded traffic", () => {
  const modes = ["prefix", "own", "whole"] as const;
  for (const seed of [1, 2, 5, 6, 7, 8]) {
    // Each way of reuse, few and many cells, adapters, devices.
    test(`seed ${seed}: every run ends exactly once and says what it would say alone`, () => {
      const chance = random(seed);
      const reuse = modes[seed % 3] ?? "prefix";
      const world = new World({
        ...OPTIONS,
        reuse,
        cells: seed % 2 === 0 ? 300 : 1024,
        renderSteps: seed % 2,
        goesOn: seed > 6,
      });
      const openings = [20, 90, 160].map((n) => Array.from({ length: n }, () => Math.floor(chance() * 256)));
      const adapters = seed > 4 ? 3 : 1; // 0 is the base model
      const asked = new Map<number, { prompt: number[]; maxTokens: number; adapter: number }>();
      const runs = 1500;
      for (let id = 0; id < runs;) {
        if (chance() < 0.4) {
          const length = 1 + Math.floor(chance() ** 3 * 250);
          const opening = chance() < 0.6 ? (openings[Math.floor(chance() * 3)] ?? []) : [];
          const own = Array.from({ length }, () => Math.floor(chance() * 256));
          const prompt = [...opening, ...own].slice(0, OPTIONS.contextTokens - 1);
          const maxTokens = 1 + Math.floor(chance() * 60);
          const adapter = Math.floor(chance() * adapters);
          asked.set(id, { prompt, maxTokens, adapter });
          world.add(id++, request(prompt, { maxTokens }), adapter);
        }
        world.stepAmongAborts(chance, id, 0.05);
      }
      world.drain();
      world.expectEmpty();
      let finished = 0;
      for (const [id, { prompt, maxTokens, adapter }] of asked) {
        const witness = world.witness(id);
        if (witness.aborted) continue;
        finished++;
        expect(witness.ended?.type).toBe("finish");
        const room = OPTIONS.contextTokens - prompt.length;
        const expected = expectedText(world.backend, prompt, Math.min(maxTokens, room), adapter);
        expect(witness.text).toBe(expected.text);
      }
      expect(finished).toBeGreaterThan(runs / 2);
    });
  }

  test("failing and full steps end runs with an error or let them start over, and leak nothing", () => {
    const chance = random(99);
    const outcomes: readonly DecodeOutcome[] = [
      "done",
      "done",
      "done",
      "done",
      "done",
      "done",
      "done",
      "full",
      "failed",
    ];
    const outcome = (): DecodeOutcome => outcomes[Math.floor(chance() * outcomes.length)] ?? "done";
    const world = new World({ ...OPTIONS, outcome });
    for (let id = 0; id < 500; id++) {
      world.add(
        id,
        request(
          Array.from({ length: 1 + Math.floor(chance() * 100) }, () => 65),
          { maxTokens: 20 },
        ),
      );
      world.engine.step(0);
    }
    world.drain();
    world.expectEmpty();
    const ends = [...world.witnesses.values()].map((witness) => witness.ended?.type);
    expect(ends.every((type) => type === "finish" || type === "error")).toBe(true);
    expect(ends).toContain("finish");
    expect(ends).toContain("error");
  });
});

describe("one engine", () => {
  test("an abort frees the slot and its cells before the next step, and tells what was computed", () => {
    const world = new World({ ...OPTIONS, eogOneIn: 1e9 });
    const spent = (id: number): unknown => {
      const { ended } = world.witness(id);
      return ended?.type === "finish" && [ended.usage.promptTokens, ended.usage.completionTokens];
    };
    world.add(1, request([1, 2, 3], { maxTokens: 200 }));
    world.engine.step(0);
    world.engine.step(0);
    expect(world.engine.runningCount).toBe(1);
    world.add(2, request([1, 2, 3], { maxTokens: 200 }));
    world.abort(1);
    world.abort(2);
    expect([spent(1), spent(2)]).toEqual([
      [3, 2],
      [0, 0],
    ]);
    expect(world.engine.runningCount).toBe(0);
    expect(world.engine.step(0)).toBe("idle");
    world.expectEmpty();
  });

  test("a long prompt is cut into chunks and never makes a decoding sequence skip a step", () => {
    const world = new World({ ...OPTIONS, eogOneIn: 1e9, cells: 1024, contextTokens: 1024 });
    world.add(1, request([1, 2, 3], { maxTokens: 100 }));
    world.engine.step(0);
    const before = world.witness(1).text.length;
    world.add(
      2,
      request(
        Array.from({ length: 500 }, () => 7),
        { maxTokens: 1 },
      ),
    );
    let steps = 0;
    while (world.witness(2).ended === undefined) {
      world.engine.step(0);
      steps++;
      expect(world.witness(1).text.length).toBe(before + steps);
    }
    expect(steps).toBeGreaterThan(10);
    expect(world.backend.largestStep).toBeLessThanOrEqual(OPTIONS.ubatch);
  });

  test("of sixteen steps in which an answer is written one has no prompts, so that its cost is known", () => {
    const world = new World({ ...OPTIONS, eogOneIn: 1e9 });
    const { backend, engine } = world;
    const rows: number[] = [];
    const decode = backend.decode.bind(backend);
    backend.decode = (columns, n) => {
      rows.push(n);
      return decode(columns, n);
    };
    world.add(1, request([1], { maxTokens: 200 }));
    for (let id = 2; id < 100; id++) {
      world.add(id, request([id, 5, 6, 7], { maxTokens: 1 })); // there is always one to be read
      engine.step(0);
    }
    const alone = rows.flatMap((n, step) => (n === 1 && step > 16 ? step : [])); // sooner until it is known at all
    expect(alone.length).toBeGreaterThanOrEqual(5);
    for (const [i, step] of alone.entries()) if (i > 0) expect(step - (alone[i - 1] ?? 0)).toBe(16);
  });

  test("first come, first served: a short prompt does not overtake a long one for the last slot", () => {
    const world = new World({ ...OPTIONS, maxSeqs: 1, eogOneIn: 1e9 });
    world.add(1, request([1], { maxTokens: 5 }));
    world.add(
      2,
      request(
        Array.from({ length: 100 }, () => 2),
        { maxTokens: 5 },
      ),
    );
    world.add(3, request([3], { maxTokens: 5 }));
    expect(endsInOrder(world, 3)).toEqual([1, 2, 3]);
  });

  test("nobody waits while a very long prompt is rendered, and those like it keep their order", () => {
    const world = new World({ ...OPTIONS, longTokens: 50, eogOneIn: 1e9 });
    const long = Array.from({ length: 60 }, () => 2);
    world.add(1, request(long, { maxTokens: 5 }));
    world.add(2, request(long, { maxTokens: 5 }));
    world.add(3, request([3], { maxTokens: 5 }));
    expect(endsInOrder(world, 3)).toEqual([3, 1, 2]);
  });

  test("a prompt as long as the context is refused with both numbers, or truncated when asked for", () => {
    const world = new World({ ...OPTIONS, eogOneIn: 1e9 });
    const prompt = Array.from({ length: 300 }, (_, i) => i % 256);
    world.add(1, request(prompt));
    world.add(2, request(prompt, { truncate: true, maxTokens: 10 }));
    world.drain();
    const refused = world.witness(1).ended;
    expect(refused).toMatchObject({ type: "error", error: { code: "context_length_exceeded" } });
    expect(JSON.stringify(refused)).toContain("300");
    expect(JSON.stringify(refused)).toContain("256");
    expect(world.witness(2).text).toBe(expectedText(world.backend, prompt.slice(300 - 246), 10).text);
    world.expectEmpty();
  });

  test("an empty prompt is an error of the caller", () => {
    const world = new World(OPTIONS);
    world.add(1, request([]));
    world.drain();
    expect(world.witness(1).ended).toMatchObject({ type: "error", error: { code: "invalid_request" } });
    world.expectEmpty();
  });

  test("without max_tokens an answer ends where the context ends", () => {
    const world = new World({ ...OPTIONS, eogOneIn: 1e9 });
    world.add(1, request([1, 2, 3]));
    world.drain();
    expect(world.witness(1).text.length).toBe(OPTIONS.contextTokens - 3);
  });

  test("a stop string that comes in pieces is never emitted, nor is anything after it", () => {
    const world = new World({ ...OPTIONS, eogOneIn: 1e9 });
    const whole = expectedText(world.backend, [5, 6], 60).text;
    const stop = whole.slice(20, 25);
    world.add(1, request([5, 6], { maxTokens: 60, stop: ["#never#", stop] }));
    world.drain();
    expect(world.witness(1)).toMatchObject({ text: whole.slice(0, whole.indexOf(stop)), stop });
  });

  test("a choice that no stop string ended names none", () => {
    const world = new World({ ...OPTIONS, eogOneIn: 1e9 });
    world.add(1, request([5, 6], { maxTokens: 6, stop: ["#never#"] }));
    world.drain();
    expect(world.witness(1).stop).toBeUndefined();
  });

  test("a prompt that is only to be counted is, however long, and nothing is computed", () => {
    const world = new World({ ...OPTIONS, renderSteps: 2 });
    const long = Array.from({ length: 1000 }, () => 65);
    world.add(1, request([1, 2, 3], { countOnly: true }));
    world.add(2, request(long, { countOnly: true }));
    world.drain();
    for (const [id, promptTokens] of [
      [1, 3],
      [2, 1000],
    ] as const) {
      const usage = { promptTokens, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 };
      expect(world.witness(id)).toMatchObject({ accepted: 1, ended: { type: "finish", usage } });
    }
    expect(world.backend.steps).toBe(0);
    world.expectEmpty();
  });
});

test("a prompt whose rendering never ends is noticed; ones that only take their time are not", () => {
  const world = new World({ ...OPTIONS, renderSteps: 1e9 });
  world.add(1, request([1]));
  for (let steps = 0; steps < 1e7 && !world.engine.isStuck; steps++) world.engine.step(0);
  expect(world.engine.isStuck).toBe(true);
  world.abort(1);
  expect(world.engine.isStuck).toBe(false);

  const slow = new World({ ...OPTIONS, renderSteps: 1000 });
  const runs = Array.from({ length: 500 }, (_, i) => i + 1);
  for (const id of runs) slow.add(id, request([id % 200], { countOnly: true }));
  let wasStuck = false;
  while (slow.engine.step(0) !== "idle") wasStuck ||= slow.engine.isStuck; // longer than any of them may take
  expect(wasStuck).toBe(false);
  expect(runs.every((id) => slow.witness(id).ended?.type === "finish")).toBe(true);
});

describe("shared prefixes", () => {
  const shared = Array.from({ length: 100 }, (_, i) => (i * 7) % 256);
  const options = { ...OPTIONS, cells: 2048, eogOneIn: 1e9 };
  const cached = (world: World, id: number): number => {
    const end = world.witness(id).ended;
    return end?.type === "finish" ? end.usage.cachedTokens : -1;
  };

  test("a prompt that nothing is to follow is computed for those who come later", () => {
    const world = new World(options);
    world.add(1, request([...shared, 1], { maxTokens: 0 }));
    world.drain();
    expect(world.witness(1)).toMatchObject({ text: "", ended: { usage: { completionTokens: 0 } } });
    expect(world.backend.computedTokens).toBe(101);
    world.add(2, request([...shared, 2], { maxTokens: 3 }));
    world.drain();
    expect(cached(world, 2)).toBe(100);
  });

  test("users who arrive together with one opening compute it once", () => {
    const world = new World(options);
    for (let id = 1; id <= 8; id++) world.add(id, request([...shared, id], { maxTokens: 3 }));
    world.drain();
    // A user does not wait for the last few tokens of a prefix, which are cheap.
    expect(world.backend.computedTokens).toBeLessThan(100 + 8 * (3 + 16));
    for (let id = 1; id <= 8; id++) {
      expect(world.witness(id).text).toBe(expectedText(world.backend, [...shared, id], 3).text);
      if (id === 1) expect(cached(world, id)).toBe(0);
      else expect(cached(world, id)).toBeGreaterThan(84);
    }
    const { rows, steps, prefixTokens, ...stats } = world.engine.stats();
    expect(stats).toMatchObject({ decodeTokens: 8 * 3, prefixQueries: 8, prefixHits: 7, preemptions: 0 });
    expect(stats.prefillTokens + prefixTokens).toBe(8 * 101);
    expect(rows.sum).toBe(world.backend.computedTokens);
    expect(countOf(steps)).toBe(countOf(rows));
    world.expectEmpty();
  });

  test("the choices of one request compute the prompt once and are told apart", () => {
    const world = new World(options);
    world.add(1, request(shared, { maxTokens: 4, choices: 4 }));
    world.drain();
    expect(world.backend.computedTokens).toBeLessThan(100 + 4 * (4 + 16));
    expect(world.witness(1).ended).toMatchObject({
      type: "finish",
      usage: { promptTokens: 100, completionTokens: 16 },
    });
    world.expectEmpty();
  });

  test("a preempted sequence echoes its prompt once, with the probabilities of its tokens", () => {
    const world = new World({ ...OPTIONS, cells: 160, eogOneIn: 1e9 });
    const prompts = [1, 2, 3, 4].map((seed) =>
      Array.from({ length: 30 }, (_, i) => 97 + ((7 * seed + i * i) % 26)),
    );
    const extra = { maxTokens: 60, echo: true, logprobs: { top: 0 } };
    prompts.forEach((prompt, id) => world.add(id, request(prompt, extra)));
    world.drain();
    expect(world.engine.stats().preemptions).toBeGreaterThan(0);
    prompts.forEach((prompt, id) => {
      const { text, scored } = world.witness(id);
      expect(text).toBe(String.fromCharCode(...prompt) + expectedText(world.backend, prompt, 60).text);
      expect(scored).toBe(90);
    });
    world.expectEmpty();
  });

  test("the next turn of a conversation finds the last one, answer included", () => {
    const world = new World(options);
    world.add(1, request(shared, { maxTokens: 10 }));
    world.drain();
    const answer = Array.from(world.witness(1).text, (char) => char.charCodeAt(0));
    world.add(2, request([...shared, ...answer, 1, 2, 3], { maxTokens: 1 }));
    world.drain();
    expect(cached(world, 2)).toBe(109); // the last token drawn was never computed
  });

  test("prefix_cache_n = 0 shares nothing", () => {
    const world = new World(options, { prefixCacheN: 0 });
    world.add(1, request(shared, { maxTokens: 2 }));
    world.drain();
    world.add(2, request(shared, { maxTokens: 2 }));
    world.drain();
    expect(cached(world, 2)).toBe(0);
    expect(world.backend.usedCells).toBe(0);
  });

  test("memory that can't be cut goes on only from its very end", () => {
    const world = new World({ ...options, reuse: "whole" });
    world.add(1, request(shared, { maxTokens: 10 }));
    world.drain();
    world.add(2, request([...shared.slice(0, 90), 1, 2, 3], { maxTokens: 1 }));
    world.drain();
    expect(cached(world, 2)).toBe(0);
    const answer = Array.from(world.witness(1).text, (char) => char.charCodeAt(0));
    world.add(3, request([...shared, ...answer, 1], { maxTokens: 1 }));
    world.drain();
    expect(cached(world, 3)).toBe(109);
  });

  test("kept prefixes give way to running sequences", () => {
    const world = new World({ ...options, cells: 300, contextTokens: 256 });
    world.add(1, request(shared, { maxTokens: 20 }));
    world.drain();
    world.add(
      2,
      request(
        Array.from({ length: 250 }, () => 9),
        { maxTokens: 5 },
      ),
    );
    world.drain();
    expect(world.witness(2).ended?.type).toBe("finish");
    world.expectEmpty();
  });

  test("short prefixes do not pile up, long ones stay", () => {
    const world = new World(
      { ...options, slots: 24, cells: 8192, contextTokens: 1024, ubatch: 64 },
      { prefixCacheN: 16 },
    );
    const long = Array.from({ length: 600 }, (_, i) => (i * 11) % 251);
    world.add(1, request(long, { maxTokens: 2 }));
    world.drain();
    for (let id = 2; id <= 15; id++) {
      world.add(
        id,
        request(
          Array.from({ length: 200 }, (_, i) => (i * id) % 253),
          { maxTokens: 2 },
        ),
      );
      world.drain();
    }
    expect(world.backend.usedCells).toBeLessThanOrEqual(601 + 1024 + 201); // the latest is one too many until the next comes
    world.add(99, request([...long, 1, 2], { maxTokens: 1 }));
    world.drain();
    expect(cached(world, 99)).toBeGreaterThan(590);
  });
});

test("with a larger prefill share a prompt beside a running answer takes fewer steps, and the answer still goes on", () => {
  const steps = [0.1, 1].map((prefillShare) => {
    const world = new World({ ...OPTIONS, eogOneIn: 1_000_000 }, { prefillShare });
    world.add(0, request([1, 2, 3], { maxTokens: 200 }));
    while (world.witness(0).text === "") world.engine.step(0);
    world.engine.step(0);
    const prompt = Array.from({ length: 200 }, (_, i) => i);
    world.add(1, request(prompt, { maxTokens: 1 }));
    const before = world.witness(0).text.length;
    let count = 0;
    for (; world.witness(1).ended === undefined; count++) world.engine.step(0);
    expect(world.witness(0).text.length).toBeGreaterThan(before);
    return count;
  });
  const [slow = 0, fast = 0] = steps;
  expect(fast).toBeLessThanOrEqual(8);
  expect(slow).toBeGreaterThan(fast);
});
