// Effect of an importance matrix: perplexity of held-out text for the built-in model's weights, and for quantized ones made
// with and without importance statistics; then with other types of the KV cache.  bun bench/calibration.ts
//
// The texts are stories sampled from the model at temperature 1: the original weights then have the lowest perplexity, and the
// difference of others measures their drift. Calibration uses other stories.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unpackLibraries } from "../ffi/embedded.ts";
import { openNative } from "../ffi/library.ts";
import { LlamaBackend } from "../ffi/llama.ts";
import { quantizeFile } from "../ffi/quantize.ts";
import type { CacheType } from "../src/core/cache-size.ts";
import { type FileType, fileTypeNumber } from "../src/core/quantization.ts";
import type { RunEvent, RunRequest } from "../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../src/core/sampling.ts";
import { Engine } from "../src/worker/text/engine.ts";

const MODEL = join(import.meta.dir, "../demo-model/tiny.gguf");
const OPENINGS = ["Once upon a time", "One day", "Long ago", "There was a", "The old man", "Every morning"];
const TYPES: readonly FileType[] = ["Q4_0", "Q4_K_S", "Q4_K_M", "Q3_K_S", "Q2_K"];
const CACHE_TYPES: readonly CacheType[] = [
  "f32",
  "f16",
  "bf16",
  "q8_0",
  "q5_1",
  "q5_0",
  "iq4_nl",
  "q4_1",
  "q4_0",
];
const STORIES = 48;
const STORY_TOKENS = 120;
/** Tokens at the start of a story that do not count: they were the prompt. */
const GIVEN_TOKENS = 4;

const folder = mkdtempSync(join(tmpdir(), "svc-calibration-"));
const native = openNative(unpackLibraries(folder), 0);

function load(path: string, cacheType: CacheType = "f16"): Promise<LlamaBackend> {
  const sizes = { contextLen: 16_384, maxSeqs: 16, prefixCacheN: 0, batch: 512, ubatch: 256 };
  const options = {
    kind: "text",
    cacheDir: folder,
    cacheType,
    pagedAttn: true,
    deviceLayers: 0,
  } as const;
  return LlamaBackend.load(native, path, { ...options, ...sizes, verbosity: 0 });
}

function textRun(text: string, extra: Partial<RunRequest>): RunRequest {
  const base = { model: "default", sampling: DEFAULT_SAMPLING, stop: [], choices: 1, truncate: false };
  return { ...base, prompt: { type: "text", text }, ...extra };
}

/** Text events of each run, in order. */
function run(backend: LlamaBackend, requests: readonly RunRequest[]) {
  const said: Extract<RunEvent, { type: "text" | "reasoning" }>[][] = requests.map(() => []);
  const engine = new Engine({
    backend,
    constraints: () => {
      throw new Error("this benchmark uses no constraints");
    },
    prefixCacheN: 0,
    emit: (id, event) => {
      if (event.type === "text") said[id]?.push(event);
      if (event.type === "error") throw new Error(event.error.message);
    },
    now: () => performance.now(),
    newSeed: () => 1,
  });
  requests.forEach((request, id) => engine.add(id, request));
  while (engine.step(5) !== "idle");
  return said;
}

/** Stories of the model; `seed` selects them. */
function stories(backend: LlamaBackend, seed: number): string[] {
  const openings = Array.from({ length: STORIES }, (_, i) => OPENINGS[i % OPENINGS.length] ?? "");
  const requests = openings.map((opening, i) =>
    textRun(opening, {
      sampling: { ...DEFAULT_SAMPLING, temperature: 1, seed: seed + i },
      maxTokens: STORY_TOKENS,
    }),
  );
  const answers = run(backend, requests);
  return answers.map((events, i) => openings[i] + events.map(({ text }) => text).join(""));
}

/** Of each token but the given ones, its log probability. */
function logprobsOf(backend: LlamaBackend, texts: readonly string[]): readonly number[] {
  const requests = texts.map((text) => textRun(text, { maxTokens: 0, echo: true, logprobs: { top: 0 } }));
  return run(backend, requests).flatMap((events) =>
    events.flatMap((event) => (event.logprobs ?? []).map(({ logprob }) => logprob)).slice(GIVEN_TOKENS),
  );
}

function perplexity(backend: LlamaBackend, texts: readonly string[]): number {
  return perplexityOf(logprobsOf(backend, texts));
}

function perplexityOf(logprobs: readonly number[]): number {
  return Math.exp(-mean(logprobs));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The same texts with each type of the KV cache: perplexity, and how far log probabilities are from those with F16. */
async function cacheTypes(texts: readonly string[]): Promise<void> {
  const usual = await load(MODEL);
  const expected = logprobsOf(usual, texts);
  usual.close();
  console.log("\n| KV cache | perplexity | difference of log probabilities from f16, mean |\n|---|--:|--:|");
  for (const type of CACHE_TYPES) {
    const backend = await load(MODEL, type);
    const logprobs = logprobsOf(backend, texts);
    const difference = mean(logprobs.map((value, i) => Math.abs(value - (expected[i] ?? NaN))));
    console.log(`| ${type} | ${perplexityOf(logprobs).toFixed(4)} | ${difference.toPrecision(2)} |`);
    backend.close();
  }
}

async function measured(type: FileType, importance: string | undefined, texts: readonly string[]) {
  const output = join(folder, "quantized.gguf");
  const call = { input: MODEL, output, type: fileTypeNumber(type), threads: 2, importance };
  const reason = quantizeFile(native, { ...call, quiet: true });
  if (reason !== undefined) throw new Error(reason);
  const backend = await load(output);
  const value = perplexity(backend, texts);
  backend.close();
  return value;
}

try {
  const original = await load(MODEL);
  const texts = stories(original, 1000);
  const importance = join(folder, "importance.gguf");
  original.calibration.start(0);
  stories(original, 5000);
  original.calibration.save(importance);
  console.log("| weights | perplexity | calibrated |\n|---|--:|--:|");
  console.log(`| Q8_0, as shipped | ${perplexity(original, texts).toFixed(4)} | |`);
  original.close();
  for (const type of TYPES) {
    const plain = await measured(type, undefined, texts);
    const calibrated = await measured(type, importance, texts);
    console.log(`| ${type} | ${plain.toFixed(4)} | ${calibrated.toFixed(4)} |`);
  }
  await cacheTypes(texts);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
