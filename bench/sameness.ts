// What determinism = "batch-invariant" costs, and how far answers differ without it: `bun bench/sameness.ts`. Runs itself once
// for each mode, since the native libraries read the switch once. The model is random, of the shape of a small Qwen3.

import { join } from "node:path";
import { alone, type Difference, difference, mixed, Mixer, randomAsks } from "../test/helpers/mixes.ts";
import { tinyBackend, TINY_PATH } from "../test/helpers/native.ts";
import { tempDir } from "../test/helpers/tmp.ts";
import { random } from "../test/helpers/world.ts";
import { writeModel } from "./model.ts";

const ASKS = 200;
/** Prompt tokens and streams of each measurement of decode. */
const DECODES = [
  { context: 64, streams: 1 },
  { context: 64, streams: 16 },
  { context: 4096, streams: 1 },
  { context: 1024, streams: 16 },
] as const;
const DECODE_TOKENS = 48;
const PREFILL_TOKENS = 2048;

interface Measured {
  /** Tokens per second. */
  readonly speeds: Readonly<Record<string, number>>;
  readonly difference: Difference;
}

async function measure(): Promise<Measured> {
  const path = join(tempDir(), "sameness.gguf");
  const shape = { embd: 512, layers: 8, heads: 8, kvHeads: 4, headDim: 128, ffn: 1536, contextTokens: 8192 };
  writeModel(path, "sameness", { arch: "qwen3", ...shape, vocab: "", template: "", tied: true }, TINY_PATH);
  const sizes = { contextLen: 24_576, maxSeqs: 32, prefixCacheN: 4, batch: 512, ubatch: 256 };
  const backend = await tinyBackend({ ...sizes, threads: 2 }, path);
  const one = await tinyBackend({ ...sizes, maxSeqs: 1, threads: 1 }, path);
  const chance = random(3);
  const below = (n: number): number => Math.floor(chance() * n);
  const words = (n: number): number[] => Array.from({ length: n }, () => 3 + below(2000));
  const speeds: Record<string, number> = {};
  const timed = async (prompts: readonly number[][], maxTokens: number): Promise<number> => {
    const mixer = new Mixer(backend);
    for (const prompt of prompts) mixer.add({ prompt, maxTokens, temperature: 0, seed: 1 });
    const startMs = performance.now();
    await mixer.drain();
    mixer.engine.close();
    return (performance.now() - startMs) / 1000;
  };
  await timed([words(100)], 8);
  speeds[`prompt of ${PREFILL_TOKENS} tokens`] = PREFILL_TOKENS / (await timed([words(PREFILL_TOKENS)], 1));
  for (const { context, streams } of DECODES) {
    const prompts = Array.from({ length: streams }, () => words(context));
    const seconds = (await timed(prompts, 1 + DECODE_TOKENS)) - (await timed(prompts, 1));
    speeds[`${streams} streams after ${context} tokens`] = (DECODE_TOKENS * streams) / seconds;
  }
  const asks = randomAsks(ASKS, below, { promptMax: 400, answerMax: 12 });
  const found = await mixed(
    new Mixer(backend, { prefixCacheN: 4, drafts: true, multiStepMs: 1 }),
    asks,
    below,
  );
  return { speeds, difference: difference(found, await alone(one, asks)) };
}

async function inMode(environment: Readonly<Record<string, string>>): Promise<Measured> {
  const child = Bun.spawn([process.execPath, import.meta.path, "measure"], {
    env: { ...process.env, ...environment },
    stdout: "pipe",
    stderr: "inherit",
  });
  const measured: Measured = JSON.parse(await new Response(child.stdout).text());
  return measured;
}

if (process.argv[2] === "measure") {
  process.stdout.write(JSON.stringify(await measure()));
  process.exit(0);
}
const off = await inMode({});
const invariant = await inMode({ SVC_BATCH_INVARIANT: "1" });
console.log("| tokens/s | off | batch-invariant | price |\n|---|---|---|---|");
for (const [name, speed] of Object.entries(off.speeds)) {
  const other = invariant.speeds[name] ?? 0;
  console.log(
    `| ${name} | ${speed.toFixed(0)} | ${other.toFixed(0)} | ${((1 - other / speed) * 100).toFixed(0)} % |`,
  );
}
for (const [mode, { difference: found }] of Object.entries({ off, "batch-invariant": invariant })) {
  const { answers, tokens, logprobs, largest } = found;
  console.log(
    `${mode}: of ${answers} answers in a mix, ${tokens} have other tokens and ${logprobs} other log probabilities than alone; largest difference ${largest.toPrecision(2)}`,
  );
}
