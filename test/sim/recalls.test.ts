// An engine that starts over the disk of an earlier one restores the prefixes used last before a request comes.

import { describe, expect, test } from "bun:test";
import { tempDir } from "../helpers/tmp.ts";
import { diskIn, onDisk, settle, SMALL, words } from "../helpers/tier-worlds.ts";
import { until } from "../helpers/until.ts";
import { expectedText, random, request, World } from "../helpers/world.ts";

describe("prefixes of an engine before", () => {
  const LONG = { ...SMALL, cells: 6000, contextTokens: 2000, eogOneIn: 1e9 };
  const chance = random(14);
  const [opening, ...users] = Array.from({ length: 4 }, () => words(480, chance)) as [
    number[],
    ...number[][],
  ];
  const tiersIn = (folder: string, disk = diskIn(folder)) => ({
    prefixCacheN: 4,
    tiers: onDisk(folder, { bytes: 1 << 23, remembers: true, disk }),
  });

  /** The folder of an engine that has answered users, the last of them twice. */
  async function used(): Promise<string> {
    const folder = tempDir();
    const disk = diskIn(folder);
    const world = new World(LONG, tiersIn(folder, disk));
    for (const [id, prompt] of [...users, [...(users[2] ?? []), ...words(40, chance)]].entries()) {
      world.add(id, request(prompt, { maxTokens: 8 }), undefined, id === 0 ? "a" : undefined);
      await settle(world);
    }
    await until("all is written", () => world.engine.step(0) === "idle" && disk.pending === 0);
    return folder;
  }

  test("are restored before a request, the latest of each conversation, each in its scope", async () => {
    const world = new World(LONG, tiersIn(await used()));
    await until(
      "three are kept",
      () => world.engine.step(0) === "idle" && world.engine.cache.keptCount === 3,
    );
    const { tierTokens, prefillTokens } = world.engine.stats();
    expect(tierTokens).toBe(480 + 480 + 512);
    expect(prefillTokens).toBe(0);
    for (const [id, prompt] of users.entries()) {
      const before = world.engine.stats();
      world.add(id, request([...prompt, 1, 2, 3], { maxTokens: 8 }), undefined, id === 0 ? "a" : undefined);
      await settle(world);
      expect(world.witness(id).text).toBe(expectedText(world.backend, [...prompt, 1, 2, 3], 8).text);
      const after = world.engine.stats();
      expect(after.prefillTokens - before.prefillTokens).toBe(3);
      expect(after.tierTokens).toBe(before.tierTokens);
    }
    world.expectEmpty();
  });

  test.each([
    ["the same conversation", () => users[2] ?? [], 13],
    ["a beginning of it", () => (users[2] ?? []).slice(0, 270), 270 - 256 + 13],
    ["another one", () => users[1] ?? [], 13],
    ["an unknown one", () => opening, 493],
  ])("give way to a request that comes meanwhile: %s", async (what, prompt, mostComputed) => {
    const world = new World(LONG, tiersIn(await used()));
    await until("the first is being restored", () => {
      world.engine.step(0);
      return world.engine.stats().tierTokens > 0;
    });
    const asked = [...prompt(), ...words(13, chance)];
    world.add(0, request(asked, { maxTokens: 8 }));
    await settle(world);
    expect(world.witness(0).text).toBe(expectedText(world.backend, asked, 8).text);
    const { prefillTokens, tierTokens } = world.engine.stats();
    expect(prefillTokens).toBeLessThanOrEqual(mostComputed);
    // Restored once; of the 512 tokens of the conversation, no more than had begun to come when the request did.
    if (what === "a beginning of it") expect(tierTokens).toBeLessThan(512);
    await until(
      "nothing is restored",
      () => world.engine.step(0) === "idle" && !world.engine.cache.isRestoring,
    );
    world.expectEmpty();
  });

  test("take no cells from what is kept", async () => {
    const folder = await used();
    const world = new World({ ...LONG, cells: 900 }, tiersIn(folder));
    await until("one is kept", () => world.engine.step(0) === "idle" && world.engine.cache.keptCount === 1);
    for (let i = 0; i < 20; i++) expect(world.engine.step(0)).toBe("idle");
    expect(world.engine.stats().tierTokens).toBe(512);
  });

  test("rest while an answer is generated that needs none of them", async () => {
    const world = new World(LONG, tiersIn(await used()));
    await until("the first is being restored", () => {
      world.engine.step(0);
      return world.engine.stats().tierTokens > 0;
    });
    world.add(0, request(opening.slice(0, 20), { maxTokens: 40 }));
    await until("the answer begins", () => {
      world.engine.step(0);
      return world.engine.stats().decodeTokens > 0;
    });
    const { tierTokens } = world.engine.stats();
    await until("the answer ends", () => {
      expect(world.engine.stats().tierTokens).toBe(tierTokens);
      world.engine.step(0);
      return world.witness(0).ended !== undefined;
    });
    await until("all are kept", () => world.engine.step(0) === "idle" && world.engine.cache.keptCount === 4);
    expect(world.engine.stats().tierTokens).toBe(480 + 480 + 512);
    world.expectEmpty();
  });
});
