// Copies of KV cells, natively: prefixes that left the cache come back from memory and from disk, and say what they say
// when they are computed. SVC_SLOW_TESTS=1 takes all architectures whose cells can be copied.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { LlamaBackend } from "../../ffi/llama.ts";
import { BASE_MODEL } from "../../src/core/adapter.ts";
import { DiskTier } from "../../src/worker/text/tiers/disk-tier.ts";
import { MemoryTier } from "../../src/worker/text/tiers/memory-tier.ts";
import { CacheTiers } from "../../src/worker/text/tiers/tiers.ts";
import { architectureModel } from "../helpers/architecture-models.ts";
import { ARCHITECTURE_NAMES } from "../helpers/architectures.ts";
import { tinyBackend } from "../helpers/native.ts";
import {
  ADAPTER,
  adapterFor,
  ANSWER_TOKENS,
  coldRuns,
  expectSame,
  Talk,
  words,
} from "../helpers/prefix-talk.ts";
import { tempDir } from "../helpers/tmp.ts";
import { until } from "../helpers/until.ts";
import { random } from "../helpers/world.ts";

const FAST = ["llama", "deepseek2", "qwen2vl", "gemma3"];
const NAMES = process.env.SVC_SLOW_TESTS === "1" ? ARCHITECTURE_NAMES : FAST;
const RUNS = 60;
const SIZES = { maxSeqs: 4, prefixCacheN: 2, contextLen: 1024, ubatch: 64, batch: 64, threads: 1, tiers: {} };

/** A fast clock: restoring always pays. */
function tiersOf(backend: LlamaBackend, bytes: number, disk?: DiskTier): CacheTiers {
  const cells = backend.cellCopies;
  if (cells === undefined) throw new Error("these architectures can copy cells");
  return new CacheTiers({
    cells,
    memory: new MemoryTier(bytes),
    disk,
    onRead: () => undefined,
    now: () => 0,
  });
}

describe.each(NAMES)("%s", (name) => {
  let path: string;
  let backend: LlamaBackend;
  let adapter: string | undefined;

  beforeAll(async () => {
    path = architectureModel(name);
    backend = await tinyBackend(SIZES, path);
    adapter = FAST.includes(name) ? adapterFor(path, backend.info.architecture) : undefined;
    if (adapter !== undefined) backend.loadAdapter(ADAPTER, adapter);
  });
  afterAll(() => backend.close());

  /** Encoders and models with states have none. */
  const isWithout = (): boolean =>
    !FAST.includes(name) && (backend.cellCopies === undefined || !backend.info.generates);

  test("random turns and adapters in a small cache: answers equal those of a cold cache", () => {
    if (isWithout()) return;
    const chance = random(11);
    const below = (n: number): number => Math.floor(chance() * n);
    const histories = [100, 200, 300, 150, 250, 350].map((n) => words(n, below));
    const talk = new Talk(backend, 2, tiersOf(backend, 1 << 26));
    for (let run = 0; run < RUNS; run++) {
      const history = histories[below(histories.length)] ?? [];
      const prompt = [...history, ...words(1 + below(40), below)];
      talk.add(prompt, ANSWER_TOKENS, adapter !== undefined && chance() < 0.3 ? ADAPTER : BASE_MODEL);
      for (let steps = below(30); steps > 0; steps--) talk.engine.step(1);
    }
    talk.drain();
    const { tierTokens, tierBadBlocks } = talk.engine.stats();
    expect(tierTokens).toBeGreaterThan(RUNS * 30);
    expect(tierBadBlocks).toBe(0);
    talk.engine.close();
    expectSame(talk.runs, coldRuns(backend, talk.runs));
  });

  test("another process continues from disk; with another adapter or cache type it computes the prompt", async () => {
    if (isWithout()) return;
    const folder = join(tempDir(), "cache");
    const chance = random(12);
    const prompt = words(330, (n) => Math.floor(chance() * n));
    const open = (): DiskTier => new DiskTier(folder, 1 << 30, () => undefined);
    const first = new Talk(backend, 2, tiersOf(backend, 1 << 26, open()));
    await ended(first, prompt);
    await until("the blocks are on disk", () => blocksIn(folder) >= 10);
    first.engine.close();

    const other = await tinyBackend(SIZES, path);
    const talk = new Talk(other, 2, tiersOf(other, 1 << 26, open()));
    await ended(talk, [...prompt, 5, 6, 7]);
    expect(talk.engine.stats()).toMatchObject({ tierReadTokens: 320, tierTokens: 320, prefillTokens: 13 });
    talk.engine.close();
    expectSame(talk.runs, coldRuns(other, talk.runs));
    if (adapter !== undefined) {
      other.loadAdapter(ADAPTER, adapter);
      const adapted = new Talk(other, 2, tiersOf(other, 1 << 26, open()));
      await ended(adapted, prompt, ADAPTER);
      expect(adapted.engine.stats()).toMatchObject({ tierReadTokens: 0 });
      adapted.engine.close();
    }
    other.close();

    const smaller = await tinyBackend({ ...SIZES, cacheType: "f32" }, path);
    const typed = new Talk(smaller, 2, tiersOf(smaller, 1 << 26, open()));
    await ended(typed, prompt);
    expect(typed.engine.stats()).toMatchObject({ tierReadTokens: 0, tierBadBlocks: 0 });
    typed.engine.close();
    smaller.close();
  });
});

test("recurrent models have no tiers", async () => {
  for (const name of ["mamba2", "qwen35"]) {
    const backend = await tinyBackend(SIZES, architectureModel(name));
    expect(backend.cellCopies).toBeUndefined();
    backend.close();
  }
});

function blocksIn(folder: string): number {
  return [...new Bun.Glob("??/*").scanSync(folder)].filter((path) => path.length === 67).length;
}

/** Runs a prompt; between steps, blocks can be read and written. */
async function ended(talk: Talk, prompt: readonly number[], adapter = BASE_MODEL): Promise<void> {
  talk.add(prompt, ANSWER_TOKENS, adapter);
  await until("the run has ended", () => {
    talk.drain();
    return (talk.runs.at(-1)?.promptTokens ?? 0) > 0;
  });
}
