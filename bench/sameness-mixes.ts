// Answers in random mixes beside the same answers alone: `bun bench/sameness-mixes.ts [--mode off] [--mixes N] [--seconds N]
// [--state FILE]`. A mix: 1 to 32 requests that arrive at random steps in a cache that is too small for them; requests share
// beginnings, are preempted, reuse what earlier ones left in cache, memory and on disk, and draft from n-grams. Each call is a
// restart: it goes on with the state and the disk of the calls before.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { LlamaBackend } from "../ffi/llama/llama.ts";
import { DiskTier } from "../src/worker/text/tiers/disk-tier.ts";
import { MemoryTier } from "../src/worker/text/tiers/memory-tier.ts";
import { CacheTiers } from "../src/worker/text/tiers/tiers.ts";
import { alone, type Answer, type Ask, type Below, mixed, Mixer, randomAsks } from "../test/helpers/mixes.ts";
import { tinyBackend } from "../test/helpers/native.ts";
import { tempDir } from "../test/helpers/tmp.ts";
import { random } from "../test/helpers/world.ts";
import { quantile } from "./stats.ts";

/** Different requests, of which mixes are drawn; each is computed alone once. */
const ASKS = 400;
const STREAMS_MAX = 32;
/** Mixes of an engine; then a new one begins, with an empty cache over the same tiers. */
const MIXES_OF_ENGINE = 100;

const { values } = parseArgs({
  options: {
    mode: { type: "string", default: "batch-invariant" },
    mixes: { type: "string", default: "10000" },
    seconds: { type: "string", default: "240" },
    state: { type: "string" },
    threads: { type: "string", default: "2" },
  },
});

/** What all calls have found. */
interface Found {
  mixes: number;
  equal: number;
  restarts: number;
  answers: number;
  /** Answers with other tokens than alone. */
  otherTokens: number;
  /** Answers with other log probabilities, those with other tokens included. */
  otherLogprobs: number;
  preemptions: number;
  restoredTokens: number;
  draftTokens: number;
  cachedTokens: number;
  /** For each answer with other log probabilities, the largest difference before its tokens part. */
  readonly largest: number[];
}

const NOTHING: Found = {
  mixes: 0,
  equal: 0,
  restarts: 0,
  answers: 0,
  otherTokens: 0,
  otherLogprobs: 0,
  preemptions: 0,
  restoredTokens: 0,
  draftTokens: 0,
  cachedTokens: 0,
  largest: [],
};

if (process.env.SVC_BATCH_INVARIANT === undefined) {
  // The native libraries read the switch once, so a process of its own runs.
  const child = Bun.spawn([process.execPath, ...process.argv.slice(1)], {
    env: { ...process.env, GOMP_SPINCOUNT: "500", SVC_BATCH_INVARIANT: values.mode === "off" ? "0" : "1" },
    stdio: ["ignore", "inherit", "inherit"],
  });
  process.exit(await child.exited);
}

const folder = values.state ?? tempDir();
mkdirSync(folder, { recursive: true });
const stateFile = join(folder, `${values.mode}.json`);
const found: Found = existsSync(stateFile) ? JSON.parse(readFileSync(stateFile, "utf8")) : { ...NOTHING };
const chance = random(1);
const asks = randomAsks(ASKS, (n) => Math.floor(chance() * n), { promptMax: 90, answerMax: 48 });
const mode = values.mode === "off" ? {} : ({ batchInvariant: true } as const);
const wanted = await answersAlone();
const crowd = await tinyBackend({
  ...mode,
  maxSeqs: STREAMS_MAX,
  prefixCacheN: 6,
  contextLen: 256,
  threads: Number(values.threads),
  batch: 64,
  ubatch: 64,
  tiers: {},
});
const started = performance.now();
const luck = random(1000 + found.restarts);
const below: Below = (n) => Math.floor(luck() * n);
const isOver = (): boolean =>
  found.mixes >= Number(values.mixes) || performance.now() - started > 1000 * Number(values.seconds);
while (!isOver()) await manyMixes(crowd);
found.restarts++;
writeFileSync(stateFile, JSON.stringify(found));
report();
process.exit(0);

/** The answers alone, of the first call. */
async function answersAlone(): Promise<readonly Answer[]> {
  const file = join(folder, `${values.mode}-alone.json`);
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8"));
  const one = await tinyBackend({ ...mode, maxSeqs: 1, threads: 1 });
  const answers = await alone(one, asks);
  one.close();
  writeFileSync(file, JSON.stringify(answers));
  return answers;
}

/** Mixes of one engine. */
async function manyMixes(backend: LlamaBackend): Promise<void> {
  const tiers = tiersOf(backend);
  const mixer = new Mixer(backend, {
    prefixCacheN: 6,
    drafts: below(2) === 0 ? "ngram" : "off",
    multiStepMs: below(2),
    tiers,
  });
  for (let i = 0; i < MIXES_OF_ENGINE && !isOver(); i++) {
    const streams = 1 + below(1 + below(STREAMS_MAX));
    const drawn = Array.from({ length: streams }, () => below(ASKS));
    const answers = await mixed(mixer, drawn.flatMap((n) => asks[n] ?? []) satisfies Ask[], below);
    const isEqual = drawn.map((n, at) => compare(answers[at], wanted[n]));
    found.mixes++;
    if (isEqual.every(Boolean)) found.equal++;
  }
  const { preemptions, tierTokens, draftTokens, prefixTokens } = mixer.engine.stats();
  found.preemptions += preemptions;
  found.restoredTokens += tierTokens;
  found.draftTokens += draftTokens;
  found.cachedTokens += prefixTokens;
  mixer.engine.close();
}

/** Counts an answer; whether it is the same to the last bit. */
function compare(answer: Answer | undefined, alone: Answer | undefined): boolean {
  if (answer === undefined || alone === undefined) throw new Error("an answer is missing");
  found.answers++;
  const part = answer.tokens.findIndex((token, i) => token !== alone.tokens[i]);
  const isSame = part < 0 && answer.tokens.length === alone.tokens.length;
  const common = part < 0 ? answer.logprobs : answer.logprobs.slice(0, part);
  const largest = Math.max(0, ...common.map((value, i) => Math.abs(value - (alone.logprobs[i] ?? 0))));
  if (isSame && largest === 0) return true;
  if (!isSame) found.otherTokens++;
  found.otherLogprobs++;
  found.largest.push(largest);
  return false;
}

function tiersOf({ cellCopies: cells, states }: LlamaBackend): CacheTiers | undefined {
  const disk = new DiskTier(join(folder, `${values.mode}-blocks`), 1 << 28, () => undefined);
  const memory = new MemoryTier(1 << 24);
  const source = cells ?? states;
  const identity = source?.identity.bind(source);
  return identity && new CacheTiers({ identity, cells, memory, disk, onRead: () => undefined, now: () => 0 });
}

function report(): void {
  const { largest, ...counts } = found;
  console.log(JSON.stringify({ mode: values.mode, ...counts }));
  if (largest.length === 0) return;
  const at = (share: number): string => quantile(largest, share).toPrecision(2);
  console.log(
    `largest difference of an answer that differs: p50 ${at(0.5)}, p90 ${at(0.9)}, p99 ${at(0.99)}, max ${at(1)}`,
  );
}
