// What determinism = "batch-invariant" costs: `bun bench/sameness.ts [ROUNDS]`. Both modes take turns, each in a process of its own,
// since the native libraries read the switch once. Processor time of one thread is measured, which depends little on other load. The
// model is random, of the shape of a small Qwen3. How far answers differ: sameness-mixes.ts.

import { join } from "node:path";
import { Mixer } from "../test/helpers/mixes.ts";
import { tinyBackend, TINY_PATH } from "../test/helpers/native.ts";
import { tempDir } from "../test/helpers/tmp.ts";
import { random } from "../test/helpers/world.ts";
import { writeModel } from "./model.ts";
import { median } from "./stats.ts";

/** Turns of each mode. */
const ROUNDS = Number(process.argv[2] ?? 3);
/** Prompt tokens and streams of each measurement of decode. */
const DECODES = [
  { context: 64, streams: 1 },
  { context: 64, streams: 8 },
  { context: 1024, streams: 1 },
  { context: 256, streams: 8 },
] as const;
const DECODE_TOKENS = 24;
const PREFILL_TOKENS = 1024;
/** Streams that share a beginning, which the invariant mode reads for each of them. */
const SHARED = { context: 1024, streams: 8 };

/** Tokens per second of processor time. */
type Speeds = Readonly<Record<string, number>>;

async function measure(): Promise<Speeds> {
  const path = join(tempDir(), "sameness.gguf");
  const shape = { embd: 512, layers: 6, heads: 8, kvHeads: 4, headDim: 128, ffn: 1536, contextTokens: 8192 };
  writeModel(path, "sameness", { arch: "qwen3", ...shape, vocab: "", template: "", tied: true }, TINY_PATH);
  const sizes = { contextLen: 6144, maxSeqs: 8, prefixCacheN: 4, batch: 512, ubatch: 256 };
  const backend = await tinyBackend({ ...sizes, threads: 1 }, path);
  const chance = random(3);
  const words = (n: number): number[] => Array.from({ length: n }, () => 3 + Math.floor(chance() * 2000));
  const timed = async (
    prompts: readonly number[][],
    maxTokens: number,
    opening?: readonly number[],
  ): Promise<number> => {
    const mixer = new Mixer(backend, { prefixCacheN: 4 });
    if (opening !== undefined) {
      mixer.add({ prompt: opening, maxTokens: 1, temperature: 0, seed: 1 });
      await mixer.drain();
    }
    const before = process.cpuUsage();
    for (const prompt of prompts) mixer.add({ prompt, maxTokens, temperature: 0, seed: 1 });
    await mixer.drain();
    const { user, system } = process.cpuUsage(before); // µs
    mixer.engine.close();
    return (user + system) / 1e6;
  };
  /** Of decode alone: without the time of the same prompts. */
  const decode = async (prompts: readonly number[][], opening?: readonly number[]): Promise<number> => {
    const seconds = (await timed(prompts, 1 + DECODE_TOKENS, opening)) - (await timed(prompts, 1, opening));
    return (DECODE_TOKENS * prompts.length) / seconds;
  };
  await timed([words(100)], 8);
  const speeds: Record<string, number> = {};
  speeds[`prompt of ${PREFILL_TOKENS} tokens`] = PREFILL_TOKENS / (await timed([words(PREFILL_TOKENS)], 1));
  for (const { context, streams } of DECODES)
    speeds[`${streams} streams after ${context} tokens`] = await decode(
      Array.from({ length: streams }, () => words(context)),
    );
  const opening = words(SHARED.context);
  const sharing = Array.from({ length: SHARED.streams }, () => [...opening, ...words(8)]);
  speeds[`${SHARED.streams} streams after ${SHARED.context} common tokens`] = await decode(sharing, opening);
  return speeds;
}

async function inMode(invariant: "0" | "1"): Promise<Speeds> {
  const child = Bun.spawn([process.execPath, import.meta.path, "measure"], {
    env: { ...process.env, GOMP_SPINCOUNT: "500", SVC_BATCH_INVARIANT: invariant },
    stdout: "pipe",
    stderr: "inherit",
  });
  const measured: Speeds = JSON.parse(await new Response(child.stdout).text());
  return measured;
}

if (process.argv[2] === "measure") {
  process.stdout.write(JSON.stringify(await measure()));
  process.exit(0);
}
const rounds: { readonly off: Speeds; readonly invariant: Speeds }[] = [];
for (let i = 0; i < ROUNDS; i++) {
  const round = { off: await inMode("0"), invariant: await inMode("1") };
  console.error(`bench: ${JSON.stringify(round)}`);
  rounds.push(round);
}
console.log(
  "| tokens per second of processor time, median | off | batch-invariant | price (of each round) |\n|---|--:|--:|--:|",
);
for (const name of Object.keys(rounds[0]?.off ?? {})) {
  const speed = (mode: "off" | "invariant") => rounds.map((round) => round[mode][name] ?? Number.NaN);
  const [off, invariant] = [speed("off"), speed("invariant")];
  const prices = off.map((fast, i) => 100 * (1 - (invariant[i] ?? Number.NaN) / fast));
  const all = prices.map((price) => price.toFixed(0)).join(", ");
  console.log(
    `| ${name} | ${median(off).toFixed(0)} | ${median(invariant).toFixed(0)} | ${median(prices).toFixed(0)} % (${all}) |`,
  );
}
