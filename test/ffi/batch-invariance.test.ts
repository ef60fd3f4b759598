// Answers under SVC_BATCH_INVARIANT: in random mixes, with shared prefixes, preemption, drafts, copies of cells and other
// chunks of the prompt, they are what they are alone, bit for bit. The switch is read once by the native libraries, so a
// process of its own runs these tests, for each CPU variant with kernels of another width. SVC_SLOW_TESTS=1 takes all
// architectures and 10,000 requests.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { stringsField, u32Field } from "../../src/lora/gguf-write.ts";
import { DiskTier } from "../../src/worker/text/tiers/disk-tier.ts";
import { Embedder, type EmbedOutcome } from "../../src/worker/text/embedder.ts";
import { MemoryTier } from "../../src/worker/text/tiers/memory-tier.ts";
import { CacheTiers } from "../../src/worker/text/tiers/tiers.ts";
import { architectureModel } from "../helpers/architecture-models.ts";
import { ARCHITECTURE_NAMES } from "../helpers/architectures.ts";
import { alone, difference, mixed, Mixer, randomAsks } from "../helpers/mixes.ts";
import { tinyBackend, TINY_PATH } from "../helpers/native.ts";
import { grammarDraftTests } from "./grammar-drafts.ts";
import { tinyHybrid } from "../helpers/tiny-heads.ts";
import { POOLING, tinyPooled } from "../helpers/tiny-models.ts";
import { tempDir } from "../helpers/tmp.ts";
import { random } from "../helpers/world.ts";

const SLOW = process.env.SVC_SLOW_TESTS === "1";
const FAST = ["qwen3moe", "gemma3", "qwen3next"];
const NAMES = ["built-in", ...(SLOW ? ARCHITECTURE_NAMES : FAST)];
const ASKS = Number(process.env.SVC_FUZZ_RUNS ?? (SLOW ? 80 : 8));
/** Variants with kernels of other vector widths, and the flag of /proc/cpuinfo that each needs. */
const VARIANTS = { haswell: "avx2", icelake: "avx512_vnni" };

/** Threads that sleep at a barrier, as passes of tiny models on a busy machine spend their time there. */
const ENVIRONMENT = { SVC_BATCH_INVARIANT: "1", GOMP_SPINCOUNT: "500" };

const CPUINFO = "/proc/cpuinfo";
const flags = existsSync(CPUINFO) ? readFileSync(CPUINFO, "utf8") : "";

const TEXTS = [
  "a",
  "the capital of france is paris",
  "the quick brown fox ".repeat(20),
  "cats",
  "one two three",
];

if (process.env.SVC_BATCH_INVARIANT === "1") {
  const RANDOM_HEAD = tinyHybrid({ silent: false, head: true });
  describe.each(NAMES)("%s", invariant);
  test("a model that gives no answers is not refused", async () => {
    const bert = await tinyBackend({ batchInvariant: true }, architectureModel("bert"));
    expect(bert.info).toMatchObject({ generates: false, embeds: true });
    bert.close();
  });
  test.each([
    ["embeddings", tinyPooled("mean"), TEXTS.map((input) => [input]), { inputs: TEXTS }],
    ["scores", causalRanker(), TEXTS.map((text) => [text]), { query: "a cat", documents: TEXTS }],
  ] as const)("%s are the same alone and among others, bit for bit", async (_, path, ones, all) => {
    const backend = await tinyBackend({ batchInvariant: true }, path);
    const alone = ones.map((texts) =>
      vectorsOf(backend, "inputs" in all ? { inputs: texts } : { ...all, documents: texts }),
    );
    expect(vectorsOf(backend, all)).toEqual(alone.flat());
    expect(new Set(alone.flat().map(([first]) => first)).size).toBe(TEXTS.length);
    backend.close();
  });
  test("an encoder, whose attention has no order, is refused for embeddings with the reason", async () => {
    const backend = await tinyBackend({ batchInvariant: true }, architectureModel("bert"));
    expect(() => backend.embedder()).toThrow(/batch-invariant.*attention whose cells have no order/);
    backend.close();
  });
  test.each([
    ["a draft model", TINY_PATH, { mtpModel: TINY_PATH, mtpDraftSampling: "probabilistic" }],
    ["a head in the file", RANDOM_HEAD, { mtpDraftSampling: "probabilistic" }],
    ["a head that is right", tinyHybrid({ silent: true, head: true }), { mtpDraftSampling: "greedy" }],
  ] as const)("answers with drafts by %s are the same as without, bit for bit", async (_, path, drafting) => {
    const chance = random(6);
    const below = (n: number): number => Math.floor(chance() * n);
    const asks = randomAsks(ASKS, below, { promptMax: 120, answerMax: 60 });
    const speculative = { type: "mtp", mtpNPredict: 3, ...drafting } as const;
    // Draft tokens that are sampled have noise of their own kind (docs/decisions/144); the likeliest leave the answer as it is.
    const other =
      drafting.mtpDraftSampling === "greedy" ? {} : { speculative: { ...speculative, mtpNPredict: 1 } };
    const one = await tinyBackend({ batchInvariant: true, maxSeqs: 1, threads: 1, ...other }, path);
    const wanted = await alone(one, asks);
    one.close();
    const crowd = await tinyBackend({ batchInvariant: true, maxSeqs: 4, prefixCacheN: 4, speculative }, path);
    let clock = 0; // goes on evenly, so that drafts always pay
    const mixer = new Mixer(crowd, { prefixCacheN: 4, now: () => clock++ });
    const { tokens, logprobs, largest } = difference(await mixed(mixer, asks, below), wanted);
    expect({ tokens, logprobs, largest }).toEqual({ tokens: 0, logprobs: 0, largest: 0 });
    const { draftTokens, draftHits } = mixer.engine.stats();
    expect(draftTokens).toBeGreaterThan(0);
    expect(draftHits).toBeGreaterThan(0);
    if (path === RANDOM_HEAD) expect(draftTokens).toBeGreaterThan(draftHits); // some are rejected
    mixer.engine.close();
    crowd.close();
  });
  grammarDraftTests();
  test("a model whose graph depends on the batch is refused", async () => {
    expect(await openOrRefused({}, architectureModel("grok"))).toBeUndefined();
  });
} else
  for (const [variant, flag] of Object.entries(VARIANTS))
    test.skipIf(!flags.includes(` ${flag} `))(
      variant,
      async () => {
        const child = Bun.spawn([process.execPath, "test", "--timeout", "600000", import.meta.path], {
          env: { ...process.env, ...ENVIRONMENT, SVC_TEST_CPU: variant },
          stdout: "ignore",
          stderr: "pipe",
        });
        const [output, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
        expect({ code, output: code === 0 ? "" : output }).toEqual({ code: 0, output: "" });
      },
      3_600_000,
    );

/** A reranker as Qwen3's are: causal, with a head over the last token whose two labels' shares are the scores. */
function causalRanker(): string {
  const fields = [
    u32Field("qwen3.pooling_type", POOLING.rank),
    stringsField("qwen3.classifier.output_labels", ["yes", "no"]),
  ];
  return architectureModel("qwen3", join(tempDir(), "ranker"), fields);
}

/** The vectors of all inputs, or the scores of all documents, of one request. */
function vectorsOf(
  backend: LlamaBackend,
  request:
    | { readonly inputs: readonly string[] }
    | { readonly query: string; readonly documents: readonly string[] },
): readonly Float32Array[] {
  const results: EmbedOutcome["result"][] = [];
  const embedder = new Embedder(
    () => backend.embedder(),
    ({ result }) => results.push(result),
  );
  embedder.add(1, { model: "default", truncate: false, ...request });
  while (embedder.step(5));
  const [result] = results;
  if (result === undefined || !("vectors" in result)) throw new Error("no vectors", { cause: result });
  return result.vectors;
}

/** An architecture whose graphs depend on the batch is refused. */
async function openOrRefused(sizes: object, path: string): Promise<LlamaBackend | undefined> {
  try {
    return await tinyBackend({ contextLen: 1024, batchInvariant: true, ...sizes }, path);
  } catch (error) {
    expect(String(error)).toContain("batch-invariant");
    return undefined;
  }
}

function invariant(name: string): void {
  const path = name === "built-in" ? TINY_PATH : architectureModel(name);
  // A small cache, so that sequences are preempted; passes of other sizes, on other threads.
  const crowded = {
    maxSeqs: 16,
    prefixCacheN: 4,
    contextLen: 256,
    threads: 2,
    ubatch: 48,
    batch: 48,
    tiers: {},
  };

  test("answers in random mixes, before and after a restart, are the same bit for bit", async () => {
    const one = await openOrRefused({ maxSeqs: 1, threads: 1, ubatch: 128, batch: 128 }, path);
    if (one === undefined) return expect(["built-in", ...FAST]).not.toContain(name);
    const chance = random(5);
    const below = (n: number): number => Math.floor(chance() * n);
    const asks = randomAsks(ASKS, below, { promptMax: 120, answerMax: 140 });
    const wanted = await alone(one, asks);
    one.close();
    const folder = join(tempDir(), "cache");
    let preempted = 0;
    let restored = 0;
    for (let start = 0; start < 2; start++) {
      const crowd = await openOrRefused(crowded, path);
      if (crowd === undefined) throw new Error("one context was accepted and another one was not");
      const mixer = new Mixer(crowd, {
        prefixCacheN: 4,
        drafts: start === 0 ? "ngram" : "off",
        multiStepMs: 1,
        tiers: tiersOf(crowd, folder),
      });
      const { tokens, logprobs, largest } = difference(await mixed(mixer, asks, below), wanted);
      expect({ start, tokens, logprobs, largest }).toEqual({ start, tokens: 0, logprobs: 0, largest: 0 });
      const { preemptions, tierTokens } = mixer.engine.stats();
      preempted += preemptions;
      restored += tierTokens;
      mixer.engine.close();
      crowd.close();
    }
    if (name === "built-in" && ASKS >= 12) expect(Math.min(preempted, restored)).toBeGreaterThan(0);
  });
}

/** A fast clock: restoring always pays. */
function tiersOf({ cellCopies: cells, states }: LlamaBackend, folder: string): CacheTiers | undefined {
  const disk = new DiskTier(folder, 1 << 30, () => undefined);
  const memory = new MemoryTier(1 << 26);
  const source = cells ?? states;
  const identity = source?.identity.bind(source);
  return identity && new CacheTiers({ identity, cells, memory, disk, onRead: () => undefined, now: () => 0 });
}
