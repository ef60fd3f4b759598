// The real engine with tiers against the fake backend, which refuses copies of other positions or adapters: users who take
// turns in a cache that holds few of them, and an engine that starts again over the same disk.

import { afterAll, describe, expect, test } from "bun:test";
import { truncateSync } from "node:fs";
import { join } from "node:path";
import type { CellBackend } from "../../src/worker/text/backend.ts";
import { MemoryTier } from "../../src/worker/text/tiers/memory-tier.ts";
import { CacheTiers } from "../../src/worker/text/tiers/tiers.ts";
import type { FakeOptions } from "../helpers/fake-backend.ts";
import { tempDir } from "../helpers/tmp.ts";
import { ask, diskIn, inMemory, onDisk, settle, SMALL, words, written } from "../helpers/tier-worlds.ts";
import { until } from "../helpers/until.ts";
import { expectedText, random, request, World } from "../helpers/world.ts";

describe("memory", () => {
  test("a prefix that left the cache is restored but for its last block, and for one adapter alone", () => {
    const world = new World(SMALL, { prefixCacheN: 2, tiers: inMemory(1 << 20) });
    const chance = random(1);
    const users = Array.from({ length: 6 }, () => words(300, chance));
    users.forEach((prompt, id) => expect(ask(world, id, prompt)).toBe(300));
    users.forEach((prompt, id) => {
      const computed = ask(world, 10 + id, [...prompt, 1, 2, 3]);
      expect(computed).toBeLessThanOrEqual(303 - 288);
    });
    expect(ask(world, 20, users[0] ?? [], 8, 1)).toBe(300);
    expect(world.engine.stats()).toMatchObject({ tierBadBlocks: 0, tierReadTokens: 0 });
    expect(world.engine.stats().tierTokens).toBeGreaterThanOrEqual(4 * 288);
    world.expectEmpty();
  });

  test("of a device's cells no copies are made that take as long as computing them, but for some to measure it again", () => {
    const run = (copyMs: number): { computed: number; bytes: number } => {
      let clock = 0;
      const world = new World(SMALL, {
        prefixCacheN: 2,
        tiers: ({ cellCopies }) => {
          if (cellCopies === undefined) throw new Error("cells can be copied");
          const save: CellBackend["save"] = (...range) => {
            clock += copyMs;
            return cellCopies.save(...range);
          };
          const memory = new MemoryTier(1 << 20);
          const cells = { ...cellCopies, save };
          const deps = { identity: cells.identity, cells, memory, onRead: () => undefined };
          return new CacheTiers({ ...deps, isOnDevice: true, now: () => clock });
        },
      });
      const chance = random(1);
      const users = Array.from({ length: 6 }, () => words(300, chance));
      users.forEach((prompt, id) => ask(world, id, prompt));
      const computed = users.map((prompt, id) => ask(world, 10 + id, [...prompt, 1, 2, 3]));
      return { computed: Math.min(...computed), bytes: world.engine.stats().tierBytes };
    };
    const [dear, cheap] = [run(1000), run(0.001)];
    expect(cheap.computed).toBeLessThanOrEqual(303 - 288);
    expect(dear.computed).toBeGreaterThanOrEqual(303 - 64); // two blocks of the first user
    expect(dear.bytes).toBeGreaterThan(0);
    expect(dear.bytes).toBeLessThan(0.1 * cheap.bytes);
  });

  test("it is bounded, and forgets the ends of the prompts used least recently", () => {
    const world = new World(SMALL, { prefixCacheN: 1, tiers: inMemory(40_000) });
    const chance = random(2);
    const users = Array.from({ length: 8 }, () => words(300, chance));
    users.forEach((prompt, id) => ask(world, id, prompt));
    expect(world.engine.stats().tierBytes).toBeLessThanOrEqual(40_000);
    expect(world.engine.stats().tierBytes).toBeGreaterThan(20_000);
    expect(ask(world, 20, [...(users[0] ?? []), 1])).toBe(301);
    expect(ask(world, 21, [...(users[6] ?? []), 1])).toBeLessThan(301);
  });

  test("a sequence that is preempted is restored, its answer too", () => {
    const run = (tiers: object): { computed: number; preemptions: number } => {
      const world = new World({ ...SMALL, cells: 400, eogOneIn: 1e9 }, { prefixCacheN: 2, ...tiers });
      const chance = random(3);
      const prompts = Array.from({ length: 8 }, () => words(100, chance));
      prompts.forEach((prompt, id) => world.add(id, request(prompt, { maxTokens: 200 })));
      world.drain();
      prompts.forEach((prompt, id) =>
        expect(world.witness(id).text).toBe(expectedText(world.backend, prompt, 200).text),
      );
      world.expectEmpty();
      const { prefillTokens: computed, preemptions } = world.engine.stats();
      return { computed, preemptions };
    };
    const [without, restored] = [run({}), run({ tiers: inMemory(1 << 20) })];
    expect(Math.min(without.preemptions, restored.preemptions)).toBeGreaterThan(0);
    expect(without.computed).toBeGreaterThan(1600); // of which the prompts are 800
    expect(restored.computed).toBeLessThan(800 + 32 * restored.preemptions);
  });

  const LONG = { ...SMALL, cells: 3000, contextTokens: 2000, eogOneIn: 1e9 };

  test("a long prefix is restored in pieces, one a step, and other answers go on", () => {
    const world = new World(LONG, { prefixCacheN: 2, tiers: inMemory(1 << 22) });
    const chance = random(11);
    const [stream, user, ...others] = Array.from({ length: 5 }, () => words(1200, chance)) as [
      number[],
      number[],
    ];
    ask(world, 0, user, 4);
    for (const [i, prompt] of others.entries()) ask(world, 1 + i, prompt, 4); // evict it
    world.add(10, request(stream.slice(0, 40), { maxTokens: 300 }));
    while (world.engine.runningCount === 0) world.engine.step(0);
    for (let i = 0; i < 10; i++) world.engine.step(0);
    world.add(11, request([...user, 1, 2, 3], { maxTokens: 8 }));
    const before = world.engine.stats();
    let steps = 0;
    for (let last = before; world.engine.runningCount < 2; steps++) {
      world.engine.step(0);
      const now = world.engine.stats();
      expect(now.tierTokens - last.tierTokens).toBeLessThanOrEqual(128);
      expect(now.decodeTokens).toBeGreaterThan(last.decodeTokens);
      last = now;
    }
    expect(steps).toBeGreaterThanOrEqual(9);
    world.drain();
    const { tierTokens, prefillTokens } = world.engine.stats();
    expect(tierTokens - before.tierTokens).toBeGreaterThanOrEqual(1152);
    expect(prefillTokens - before.prefillTokens).toBeLessThan(64);
    expect(world.witness(11).text).toBe(expectedText(world.backend, [...user, 1, 2, 3], 8).text);
    world.expectEmpty();
  });

  test("a sequence that ends while it is restored leaves nothing behind", () => {
    const world = new World(LONG, { prefixCacheN: 2, tiers: inMemory(1 << 22) });
    const chance = random(12);
    const users = Array.from({ length: 4 }, () => words(1200, chance));
    users.forEach((prompt, id) => ask(world, id, prompt, 4));
    world.add(10, request([...(users[0] ?? []), 1], { maxTokens: 8 }));
    for (let i = 0; i < 4; i++) world.engine.step(0);
    expect(world.engine.stats().tierTokens).toBeGreaterThan(0);
    world.abort(10);
    ask(world, 11, [...(users[1] ?? []), 1]);
    world.expectEmpty();
  });

  for (const seed of [1, 2])
    test(`seed ${seed}: under random traffic of long prefixes every run says what it would say alone`, () => {
      const chance = random(40 + seed);
      const world = new World(
        { ...LONG, cells: seed === 1 ? 2100 : 4000, eogOneIn: 200 },
        { prefixCacheN: 3, tiers: inMemory(1 << 23) },
      );
      const openings = Array.from({ length: 5 }, (_, i) => words(400 + 220 * i, chance));
      const asked = new Map<number, { prompt: number[]; maxTokens: number }>();
      for (let id = 0; id < 50;) {
        if (chance() < 0.06) {
          const opening = openings[Math.floor(chance() * openings.length)] ?? [];
          const run = {
            prompt: [...opening, ...words(1 + Math.floor(chance() * 80), chance)],
            maxTokens: 1 + Math.floor(chance() * 200),
          };
          asked.set(id, run);
          world.add(id++, request(run.prompt, { maxTokens: run.maxTokens }));
        }
        world.stepAmongAborts(chance, id, 0.01);
      }
      world.drain();
      for (const [id, { prompt, maxTokens }] of asked)
        if (!world.witness(id).aborted)
          expect(world.witness(id).text).toBe(expectedText(world.backend, prompt, maxTokens).text);
      expect(world.engine.stats().tierTokens).toBeGreaterThan(2000);
      world.expectEmpty();
    });

  test("copies that fail are computed instead", () => {
    const world = new World(
      { ...SMALL, copies: (what, count) => what === "save" || count % 5 !== 4 },
      { prefixCacheN: 1, tiers: inMemory(1 << 20) },
    );
    const chance = random(3);
    const users = Array.from({ length: 5 }, () => words(400, chance));
    for (let turn = 0; turn < 4; turn++)
      users.forEach((prompt, id) => ask(world, turn * 10 + id, [...prompt, turn]));
    expect(world.engine.stats().tierBadBlocks).toBeGreaterThan(0);
    expect(world.engine.stats().tierTokens).toBeGreaterThan(0);
    world.expectEmpty();
  });

  for (const seed of [1, 2, 3, 4])
    test(`seed ${seed}: under random traffic every run says what it would say alone`, () => {
      const chance = random(seed);
      const world = new World(
        { ...SMALL, cells: seed % 2 === 0 ? 700 : 1500 },
        { prefixCacheN: 3, tiers: inMemory(seed > 2 ? 1 << 20 : 60_000) },
      );
      const openings = Array.from({ length: 6 }, (_, i) => words(70 + 40 * i, chance));
      const asked = new Map<number, { prompt: number[]; maxTokens: number; adapter: number }>();
      for (let id = 0; id < 500;) {
        if (chance() < 0.3) {
          const opening = openings[Math.floor(chance() * openings.length)] ?? [];
          const prompt = [...opening, ...words(1 + Math.floor(chance() * 80), chance)];
          const run = { prompt, maxTokens: 1 + Math.floor(chance() * 30), adapter: Math.floor(chance() * 2) };
          asked.set(id, run);
          world.add(id++, request(prompt, { maxTokens: run.maxTokens }), run.adapter);
        }
        world.stepAmongAborts(chance, id, 0.03);
      }
      world.drain();
      for (const [id, { prompt, maxTokens, adapter }] of asked) {
        const witness = world.witness(id);
        if (!witness.aborted)
          expect(witness.text).toBe(expectedText(world.backend, prompt, maxTokens, adapter).text);
      }
      expect(world.engine.stats().tierTokens).toBeGreaterThan(1000);
      world.expectEmpty();
    });
});

test("scopes share neither cells nor copies, and each finds its own", () => {
  const world = new World(SMALL, { prefixCacheN: 2, tiers: inMemory(1 << 20) });
  const chance = random(6);
  const prompt = words(300, chance);
  let id = 0;
  const computed = (scope: string | undefined): number => {
    const before = world.engine.stats().prefillTokens;
    world.add(id, request(prompt, { maxTokens: 8 }), undefined, scope);
    world.drain();
    expect(world.witness(id++).text).toBe(expectedText(world.backend, prompt, 8).text);
    return world.engine.stats().prefillTokens - before;
  };
  expect([computed("a"), computed("b"), computed(undefined)]).toEqual([300, 300, 300]);
  for (let i = 0; i < 3; i++) ask(world, id++, words(300, chance)); // evicts them
  for (const scope of ["a", "b", undefined]) expect(computed(scope)).toBeLessThan(32);
  expect(computed("c")).toBe(300);
  world.expectEmpty();
});

describe("disk", () => {
  test("an engine that starts again reads what the one before has computed", async () => {
    const folder = tempDir();
    const chance = random(4);
    const prompt = words(330, chance);
    const before = new World(SMALL, { tiers: onDisk(folder) });
    before.add(0, request(prompt, { maxTokens: 8 }));
    await settle(before);
    await written(folder, 10);

    const after = new World(SMALL, { tiers: onDisk(folder) });
    const next = [...prompt, 7, 8, 9];
    after.add(0, request(next, { maxTokens: 8 }));
    await settle(after);
    expect(after.witness(0).text).toBe(expectedText(after.backend, next, 8).text);
    expect(after.engine.stats()).toMatchObject({ tierReadTokens: 320, tierTokens: 320, prefillTokens: 13 });
    after.expectEmpty();
  });

  test("runs that share blocks and runs that are aborted while reading leave nothing behind", async () => {
    const folder = tempDir();
    const chance = random(5);
    const prompt = words(330, chance);
    const before = new World(SMALL, { tiers: onDisk(folder) });
    before.add(0, request(prompt, { maxTokens: 8 }));
    await settle(before);
    await written(folder, 10);

    const after = new World(SMALL, { tiers: onDisk(folder) });
    for (let id = 0; id < 6; id++) after.add(id, request([...prompt, id], { maxTokens: 4 }));
    after.drain();
    after.abort(0);
    after.abort(3);
    await settle(after);
    for (const id of [1, 2, 4, 5])
      expect(after.witness(id).text).toBe(expectedText(after.backend, [...prompt, id], 4).text);
    expect(after.engine.stats().tierReadTokens).toBe(320);
    after.expectEmpty();
  });
});

test("a sequence waits while blocks of another one are read and restored", async () => {
  const LONG = { ...SMALL, cells: 3000, contextTokens: 2000, eogOneIn: 1e9 };
  const folder = tempDir();
  const chance = random(15);
  const [one, two, ...others] = Array.from({ length: 5 }, () => words(1200, chance)) as [number[], number[]];
  const disk = diskIn(folder);
  const tiers = onDisk(folder, { bytes: 1 << 22, disk });
  const before = new World(LONG, { tiers });
  before.add(0, request(one, { maxTokens: 4 }));
  await settle(before);
  await until("all is written", () => before.engine.step(0) === "idle" && disk.pending === 0);

  const world = new World(LONG, { prefixCacheN: 2, tiers });
  for (const [id, prompt] of [two, ...others].entries()) {
    world.add(id, request(prompt, { maxTokens: 4 }));
    await settle(world);
  }
  const { tierTokens } = world.engine.stats();
  world.add(10, request([...one, 1], { maxTokens: 4 }));
  await until("one is being restored", () => {
    world.engine.step(0);
    return world.engine.stats().tierTokens > tierTokens;
  });
  world.add(11, request([...two, 1], { maxTokens: 4 }));
  for (let i = 0; i < 20; i++) world.engine.step(0); // nothing can be read meanwhile
  await settle(world);
  expect(world.witness(10).text).toBe(expectedText(world.backend, [...one, 1], 4).text);
  expect(world.witness(11).text).toBe(expectedText(world.backend, [...two, 1], 4).text);
});

describe.each(["alone", "with cells"] as const)("states %s", (states) => {
  const isAlone = states === "alone";
  const { copies, ...sizes } = SMALL;
  const options: FakeOptions = {
    ...sizes,
    ...(isAlone ? {} : { copies }),
    reuse: "whole",
    states,
    eogOneIn: 1e9,
  };
  let readTokens = 0; // under random traffic, in all seeds
  afterAll(() => expect(readTokens).toBeGreaterThan(0));

  test("a sequence that is preempted is restored, its answer too", async () => {
    const folder = tempDir();
    const run = async (tiers: object): Promise<{ computed: number; preemptions: number }> => {
      const world = new World({ ...options, cells: 400 }, { prefixCacheN: 2, ...tiers });
      const chance = random(3);
      const prompts = Array.from({ length: 8 }, () => words(100, chance));
      prompts.forEach((prompt, id) => world.add(id, request(prompt, { maxTokens: 200 })));
      await settle(world);
      prompts.forEach((prompt, id) =>
        expect(world.witness(id).text).toBe(expectedText(world.backend, prompt, 200).text),
      );
      world.expectEmpty();
      const { prefillTokens: computed, preemptions } = world.engine.stats();
      return { computed, preemptions };
    };
    const [without, restored] = [await run({}), await run({ tiers: onDisk(folder) })];
    expect(Math.min(without.preemptions, restored.preemptions)).toBeGreaterThan(0);
    expect(restored.computed).toBeLessThan(isAlone ? without.computed : 0.8 * without.computed);
  });

  if (!isAlone)
    test("a long prefix is restored in pieces, and other answers go on", () => {
      const sizes = { ...options, cells: 3000, contextTokens: 2000 };
      const world = new World(sizes, { prefixCacheN: 2, tiers: inMemory(1 << 22) });
      const chance = random(11);
      const users = Array.from({ length: 4 }, () => words(1200, chance));
      users.forEach((prompt, id) => ask(world, id, prompt, 4));
      world.add(10, request(words(40, chance), { maxTokens: 300 }));
      for (let i = 0; i < 10; i++) world.engine.step(0);
      const next = [...(users[0] ?? []), 1, 2, 3];
      world.add(11, request(next, { maxTokens: 8 }));
      const before = world.engine.stats();
      for (let last = before; world.engine.runningCount < 2;) {
        world.engine.step(0);
        const now = world.engine.stats();
        expect(now.tierTokens - last.tierTokens).toBeLessThanOrEqual(128);
        expect(now.decodeTokens).toBeGreaterThan(last.decodeTokens);
        last = now;
      }
      world.drain();
      const { tierTokens, prefillTokens } = world.engine.stats();
      expect(tierTokens - before.tierTokens).toBeGreaterThanOrEqual(1152);
      expect(prefillTokens - before.prefillTokens).toBeLessThan(64);
      expect(world.witness(11).text).toBe(expectedText(world.backend, next, 8).text);
      world.expectEmpty();
    });

  const inPool = "a prefix that left the cache is restored at its checkpoint";
  if (!isAlone)
    test(inPool, () => {
      const world = new World(options, { prefixCacheN: 2, tiers: inMemory(1 << 20) });
      const chance = random(7);
      const users = Array.from({ length: 6 }, () => words(300, chance));
      users.forEach((prompt, id) => expect(ask(world, id, prompt)).toBe(300));
      users.forEach((prompt, id) =>
        expect(ask(world, 10 + id, [...prompt, 1, 2, 3])).toBeLessThanOrEqual(303 - 288),
      );
      expect(world.engine.stats()).toMatchObject({ tierBadBlocks: 0, checkpointsRestored: 6 });
      expect(world.engine.stats().tierTokens).toBeGreaterThanOrEqual(4 * 288);
      world.expectEmpty();
    });

  test("an engine that starts again continues from the last checkpoint, for one adapter and scope alone", async () => {
    const folder = tempDir();
    const chance = random(8);
    const prompt = words(330, chance);
    const computed = async (next: readonly number[], adapter?: number, scope?: string): Promise<number> => {
      const world = new World(options, { tiers: onDisk(folder) });
      world.add(0, request(next, { maxTokens: 8 }), adapter, scope);
      await settle(world);
      expect(world.witness(0).text).toBe(expectedText(world.backend, next, 8, adapter).text);
      const { prefillTokens, tierBadBlocks } = world.engine.stats();
      expect(tierBadBlocks).toBe(0);
      world.expectEmpty();
      return prefillTokens;
    };
    expect(await computed(prompt)).toBe(330);
    await written(folder, isAlone ? 1 : 11);
    expect(await computed([...prompt, 7, 8, 9])).toBe(13);
    expect(await computed([...prompt, 7, 8, 9], 1)).toBe(333);
    expect(await computed([...prompt, 7, 8, 9], undefined, "other")).toBe(333);
  });

  test("the last state of an engine before is read before a request", async () => {
    const disk = diskIn(tempDir());
    const tiers = onDisk("", { remembers: true, disk });
    const prompt = words(330, random(8));
    const before = new World(options, { tiers });
    before.add(0, request(prompt, { maxTokens: 8 }));
    await settle(before);
    await until("all is written", () => before.engine.step(0) === "idle" && disk.pending === 0);

    const world = new World(options, { tiers });
    await until("the state is read", () => {
      world.engine.step(0);
      return world.engine.stats().checkpoints === 1 && world.engine.stats().tierReadTokens > 0;
    });
    const { tierReadTokens } = world.engine.stats();
    const next = [...prompt, 7, 8, 9];
    world.add(0, request(next, { maxTokens: 8 }));
    world.drain(); // nothing more is read
    expect(world.witness(0).text).toBe(expectedText(world.backend, next, 8).text);
    expect(world.engine.stats()).toMatchObject({ prefillTokens: 13, tierReadTokens });
    await settle(world);
    world.expectEmpty();
  });

  if (isAlone)
    test("the state at the end of an answer is on disk, with the tokens of its last block", async () => {
      const disk = diskIn(tempDir());
      const tiers = onDisk("", { disk });
      const computed = async (prompt: readonly number[]): Promise<number> => {
        const world = new World(options, { tiers });
        world.add(0, request(prompt, { maxTokens: 60 }));
        await settle(world);
        expect(world.witness(0).text).toBe(expectedText(world.backend, prompt, 60).text);
        await until("all is written", () => world.engine.step(0) === "idle" && disk.pending === 0);
        world.expectEmpty();
        return world.engine.stats().prefillTokens;
      };
      const prompt = words(100, random(8));
      const { text } = expectedText(new World(options).backend, prompt, 60);
      const answer = [...Buffer.from(text, "latin1")];
      expect(await computed(prompt)).toBe(100);
      expect(await computed([...prompt, ...answer, 1, 2, 3])).toBe(1 + 3); // the answer's last token is not computed with it
      expect(await computed([...prompt, ...answer.slice(0, 58), 1, 2])).toBe(64); // another answer: from the prompt's state
      expect(disk.counted().badBlocks).toBe(0);
    });

  test("damaged states are deleted, counted and computed", async () => {
    const folder = tempDir();
    const prompt = words(330, random(9));
    const before = new World(options, { tiers: onDisk(folder) });
    before.add(0, request(prompt, { maxTokens: 8 }));
    await settle(before);
    await written(folder, isAlone ? 1 : 11);
    for (const name of new Bun.Glob("??/*").scanSync(folder)) truncateSync(join(folder, name), 200);

    const after = new World(options, { tiers: onDisk(folder) });
    after.add(0, request([...prompt, 7], { maxTokens: 8 }));
    await settle(after);
    expect(after.witness(0).text).toBe(expectedText(after.backend, [...prompt, 7], 8).text);
    expect(after.engine.stats()).toMatchObject({ tierBadBlocks: 1, prefillTokens: 331 });
    after.expectEmpty();
  });

  for (const seed of [1, 2, 3, 4])
    test(`seed ${seed}: turns, edits, aborts and restarts; every run says what it would say alone`, async () => {
      const folder = tempDir();
      const chance = random(seed);
      const below = (n: number): number => Math.floor(chance() * n);
      const histories = Array.from({ length: 5 }, (_, i) => words(60 + 50 * i, chance));
      for (let start = 0; start < 3; start++) {
        const world = new World(
          { ...options, cells: seed % 2 === 0 ? 700 : 1500, eogOneIn: 40 },
          {
            prefixCacheN: 3,
            checkpointBytes: seed > 2 ? 1 << 20 : 60_000,
            tiers: onDisk(folder, { bytes: seed > 2 ? 1 << 20 : 90_000 }),
          },
        );
        const asked = new Map<number, { prompt: number[]; maxTokens: number; adapter: number }>();
        for (let id = 0; id < 100;) {
          if (chance() < 0.3) {
            const history = histories[below(histories.length)] ?? [];
            const kept = chance() < 0.7 ? history : history.slice(0, below(history.length));
            const prompt = [...kept, ...words(1 + below(60), chance)].slice(0, 400);
            if (chance() < 0.3) histories[below(histories.length)] = prompt;
            const run = { prompt, maxTokens: 1 + below(20), adapter: below(2) };
            asked.set(id, run);
            world.add(id++, request(prompt, { maxTokens: run.maxTokens }), run.adapter);
          }
          if (id > 0 && chance() < 0.03) {
            const victim = below(id);
            if (world.witness(victim).ended === undefined) world.abort(victim);
          }
          world.engine.step(0);
          if (chance() < 0.5) await new Promise((resolve) => setImmediate(resolve));
        }
        await settle(world);
        for (const [id, { prompt, maxTokens, adapter }] of asked) {
          const witness = world.witness(id);
          if (!witness.aborted)
            expect(witness.text).toBe(expectedText(world.backend, prompt, maxTokens, adapter).text);
        }
        const { tierReadTokens, tierBadBlocks } = world.engine.stats();
        expect(tierBadBlocks).toBe(0);
        readTokens += tierReadTokens;
        world.expectEmpty();
      }
    });
});
