// Worlds with tiers: caches that hold few prefixes, over memory and disk.

import { expect } from "bun:test";
import type { Backend } from "../../src/worker/text/backend.ts";
import { DiskTier } from "../../src/worker/text/tiers/disk-tier.ts";
import { MemoryTier } from "../../src/worker/text/tiers/memory-tier.ts";
import { CacheTiers } from "../../src/worker/text/tiers/tiers.ts";
import { until } from "./until.ts";
import { expectedText, OPTIONS, request, type World } from "./world.ts";

export const SMALL = { ...OPTIONS, slots: 10, cells: 600, contextTokens: 512, copies: () => true };

const identity = (adapter: number): string => `fake ${adapter}`;

export function inMemory(bytes: number) {
  return ({ cellCopies: cells }: Backend): CacheTiers =>
    new CacheTiers({ identity, cells, memory: new MemoryTier(bytes), onRead: () => undefined, now: () => 0 });
}

export function diskIn(folder: string): DiskTier {
  return new DiskTier(folder, 1 << 30, () => undefined);
}

export function onDisk(folder: string, { bytes = 1 << 20, remembers = false, disk = diskIn(folder) } = {}) {
  return ({ cellCopies: cells }: Backend): CacheTiers => {
    const memory = new MemoryTier(bytes);
    return new CacheTiers({
      identity,
      cells,
      memory,
      disk,
      remembers,
      onRead: () => undefined,
      now: () => 0,
    });
  };
}

export function words(count: number, chance: () => number): number[] {
  return Array.from({ length: count }, () => Math.floor(chance() * 256));
}

/** One run; returns the prompt tokens that were computed for it. */
export function ask(
  world: World,
  id: number,
  prompt: readonly number[],
  maxTokens = 8,
  adapter?: number,
): number {
  const before = world.engine.stats().prefillTokens;
  world.add(id, request(prompt, { maxTokens }), adapter);
  world.drain();
  expect(world.witness(id).text).toBe(expectedText(world.backend, prompt, maxTokens, adapter).text);
  return world.engine.stats().prefillTokens - before;
}

/** Steps until all runs have ended, also while blocks are being read. */
export async function settle(world: World): Promise<void> {
  await until("all runs have ended", () => {
    world.drain();
    return [...world.witnesses.values()].every(({ ended, aborted }) => aborted || ended !== undefined);
  });
}

export async function written(folder: string, blocks: number): Promise<void> {
  await until(
    "the blocks are on disk",
    () => [...new Bun.Glob("??/*").scanSync(folder)].filter((path) => path.length === 67).length >= blocks,
  );
}
