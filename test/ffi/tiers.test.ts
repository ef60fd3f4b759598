// Copies of KV cells, natively: prefixes that left the cache come back from memory and from disk, and say what they say
// when they are computed. SVC_SLOW_TESTS=1 takes all architectures whose cells can be copied.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { BASE_MODEL } from "../../src/core/adapter.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import { BLOCK_TOKENS } from "../../src/worker/text/tiers/block.ts";
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
import { tinyHybrid } from "../helpers/tiny-heads.ts";
import { tempDir } from "../helpers/tmp.ts";
import { until } from "../helpers/until.ts";
import { random } from "../helpers/world.ts";

const FAST = ["llama", "deepseek2", "qwen2vl", "gemma3", "qwen35", "lfm2", "mamba2"];
const NAMES = process.env.SVC_SLOW_TESTS === "1" ? ARCHITECTURE_NAMES : FAST;
const RUNS = 60;
const TURNS = 20;
const TURN_TOKENS = 45;
/** Tokens at the end of a prompt that no checkpoint covers. */
const OPEN_TOKENS = 4;
const SIZES = { maxSeqs: 4, prefixCacheN: 2, contextLen: 1024, ubatch: 64, batch: 64, threads: 1, tiers: {} };

/** A fast clock: restoring always pays. */
function tiersOf(backend: LlamaBackend, bytes: number, disk?: DiskTier): CacheTiers {
  const { cellCopies: cells, states } = backend;
  const source = cells ?? states;
  if (source === undefined) throw new Error("these architectures can copy cells or states");
  return new CacheTiers({
    identity: source.identity.bind(source),
    cells,
    memory: new MemoryTier(bytes),
    disk,
    onRead: () => undefined,
    now: () => 0,
  });
}

/** A head that drafts, mostly wrongly. */
const DRAFTS = { type: "mtp", mtpNPredict: 3, mtpDraftSampling: "greedy" } as const;

const CASES: readonly {
  readonly title: string;
  readonly name: string;
  readonly sizes: Partial<TextOptions>;
  readonly file?: () => string;
}[] = [
  ...NAMES.map((name) => ({ title: name, name, sizes: SIZES })),
  // More sequences than rows of a micro-batch: windows must move.
  { title: "gemma3, moving windows", name: "gemma3", sizes: { ...SIZES, maxSeqs: 33, ubatch: 32 } },
  {
    title: "qwen35 with a prediction head",
    name: "qwen35",
    sizes: { ...SIZES, speculative: DRAFTS },
    file: () => tinyHybrid({ silent: false, head: true }),
  },
];

describe.each(CASES)("$title", ({ name, sizes, file = () => architectureModel(name) }) => {
  let path: string;
  let backend: LlamaBackend;
  let adapter: string | undefined;

  beforeAll(async () => {
    path = file();
    backend = await tinyBackend(sizes, path);
    adapter = FAST.includes(name) ? adapterFor(path, backend.info.architecture) : undefined;
    if (adapter !== undefined) backend.loadAdapter(ADAPTER, adapter);
  });
  afterAll(() => backend.close());

  /** Encoders have none. */
  const isWithout = (): boolean =>
    !FAST.includes(name) &&
    ((backend.cellCopies === undefined && backend.states?.alone !== true) || !backend.info.generates);

  /** Files of a prompt: blocks before a state, unless a state is all there is. */
  const filesOf = (blocks: number): number => {
    const { states, cellCopies } = backend;
    return (cellCopies === undefined ? 0 : blocks) + (states === undefined ? 0 : 1);
  };

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
    if (backend.cellCopies !== undefined) expect(tierTokens).toBeGreaterThan(RUNS * 30);
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
    await until("the blocks are on disk", () => blocksIn(folder) >= filesOf(10));
    first.engine.close();

    const other = await tinyBackend(sizes, path);
    const talk = new Talk(other, 2, tiersOf(other, 1 << 26, open()));
    await ended(talk, [...prompt, 5, 6, 7]);
    const tierTokens = backend.cellCopies === undefined ? 0 : 320;
    expect(talk.engine.stats()).toMatchObject({ tierReadTokens: 320, tierTokens, prefillTokens: 13 });
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

    const smaller = await tinyBackend({ ...sizes, cacheType: "f32" }, path);
    const typed = new Talk(smaller, 2, tiersOf(smaller, 1 << 26, open()));
    await ended(typed, prompt);
    expect(typed.engine.stats()).toMatchObject({ tierReadTokens: 0, tierBadBlocks: 0 });
    typed.engine.close();
    smaller.close();
  });

  test("each of twenty turns, in an engine of its own, computes its new tokens and less than a block before", async () => {
    if (isWithout()) return;
    const folder = join(tempDir(), "cache");
    const chance = random(13);
    const prompt: number[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      const before = prompt.length;
      prompt.push(...words(TURN_TOKENS, (n) => Math.floor(chance() * n)));
      const disk = new DiskTier(folder, 1 << 30, () => undefined);
      const talk = new Talk(backend, 2, tiersOf(backend, 1 << 26, disk));
      await ended(talk, prompt);
      const { prefillTokens } = talk.engine.stats();
      expect(prefillTokens - (prompt.length - before)).toBeLessThan(OPEN_TOKENS + BLOCK_TOKENS);
      await until("all is on disk", () => {
        talk.drain();
        return disk.pending === 0 && talk.engine.step(0) === "idle";
      });
      talk.engine.close();
      if (turn === TURNS - 1) expectSame(talk.runs, coldRuns(backend, talk.runs));
    }
  });
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
