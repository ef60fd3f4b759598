// Cost of images in prompts:  bun bench/media.ts
// TTFT of a first and a second turn, and ITL of text streams during encoding. Uses the built-in model, so that the encoder
// dominates: 25 million random weights, 576 tokens per image.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { unpackLibraries } from "../ffi/embedded.ts";
import { openNative } from "../ffi/library.ts";
import { LlamaBackend } from "../ffi/llama.ts";
import type { ContentPart, Message } from "../src/core/message.ts";
import type { RunEvent, RunRequest } from "../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../src/core/sampling.ts";
import type { TextOptions } from "../src/engine/protocol.ts";
import { Engine } from "../src/worker/text/engine.ts";
import { imagePart, png } from "../test/helpers/drawn-media.ts";
import { TEXT_OPTIONS } from "../test/helpers/text-options.ts";
import { writeProjector } from "../test/helpers/write-projector.ts";
import { quantile } from "./stats.ts";

const MODEL = join(import.meta.dir, "../demo-model/tiny.gguf");
const CACHE = join(import.meta.dir, ".cache/media");
const PROJECTOR = join(CACHE, "mmproj.gguf");
const VISION_ENCODER = { width: 512, ffn: 2048, heads: 8, layers: 8, edge: 336, patch: 14 } as const;
const TURNS = 8;
const STREAMS = 8;
const ANSWER_TOKENS = 400;

const BACKEND: TextOptions = {
  ...TEXT_OPTIONS,
  mmprojPath: PROJECTOR,
  cacheDir: CACHE,
  maxSeqs: 16,
  prefixCacheN: 16,
  contextLen: 16_384,
  maxSeqLen: 2048,
};

function image(seed: number): ContentPart {
  return imagePart(png(640, 480, (x, y) => [(x * seed) % 256, (y + seed * 31) % 256, (x ^ y) % 256]));
}

function request(messages: readonly Message[], maxTokens: number): RunRequest {
  return {
    model: "default",
    prompt: { type: "chat", messages, tools: [], toolChoice: { type: "none" }, thinking: { enabled: false } },
    sampling: { ...DEFAULT_SAMPLING, temperature: 0 },
    stop: [],
    maxTokens,
    choices: 1,
    ignoreEnd: true,
    truncate: false,
  };
}

const user = (...content: readonly ContentPart[]): Message => ({ role: "user", content });
const text = (words: string): ContentPart => ({ type: "text", text: words });

/** Runs with the arrival times of their texts. */
class Traffic {
  readonly engine: Engine;
  readonly times = new Map<number, number[]>();
  readonly words = new Map<number, string>();
  readonly ended = new Set<number>();
  private runs = 0;

  constructor(backend: LlamaBackend) {
    this.engine = new Engine({
      backend,
      constraints: () => {
        throw new Error("this benchmark uses no constraints");
      },
      prefixCacheN: 16,
      emit: (run, event) => this.note(run, event),
      now: () => performance.now(),
      newSeed: () => 1,
    });
  }

  start(what: RunRequest): number {
    const run = this.runs++;
    this.times.set(run, [performance.now()]);
    this.words.set(run, "");
    this.engine.add(run, what);
    return run;
  }

  private note(run: number, event: RunEvent): void {
    if (event.type === "error") throw new Error(event.error.message);
    if (event.type === "finish") this.ended.add(run);
    if (event.type !== "text") return;
    this.times.get(run)?.push(performance.now());
    this.words.set(run, `${this.words.get(run) ?? ""}${event.text}`);
  }

  /** Milliseconds from the request to its first text. */
  first(run: number): number {
    const [begin = 0, text_ = 0] = this.times.get(run) ?? [];
    return text_ - begin;
  }

  /** Milliseconds between texts. */
  gaps(run: number): readonly number[] {
    const times = (this.times.get(run) ?? []).slice(1);
    return times.slice(1).map((time, i) => time - (times[i] ?? time));
  }

  /** As in the engine process: messages are read between steps. */
  async drain(until: () => boolean): Promise<void> {
    while (!until()) {
      this.engine.step(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

function row(what: string, value: string): void {
  console.log(`| ${what.padEnd(62)} | ${value.padStart(18)} |`);
}

async function turns(traffic: Traffic): Promise<void> {
  const [firsts, seconds, texts]: [number[], number[], number[]] = [[], [], []];
  for (let turn = 0; turn < TURNS; turn++) {
    const opening = user(text(`Image ${turn}: `), image(turn + 2), text("what is it?"));
    const first = traffic.start(request([opening], 8));
    await traffic.drain(() => traffic.ended.has(first));
    const said: Message = { role: "assistant", content: [text(traffic.words.get(first) ?? "")] };
    const second = traffic.start(request([opening, said, user(text("And now?"))], 8));
    await traffic.drain(() => traffic.ended.has(second));
    const bare = traffic.start(request([user(text(`Text ${turn}, what is it?`))], 8));
    await traffic.drain(() => traffic.ended.has(bare));
    firsts.push(traffic.first(first));
    seconds.push(traffic.first(second));
    texts.push(traffic.first(bare));
  }
  const ms = (values: readonly number[]): string => `${quantile(values, 0.5).toFixed(1)} ms`;
  row("time to first token, new image", ms(firsts));
  row("time to first token, second turn with the same image", ms(seconds));
  row("time to first token, text alone", ms(texts));
}

/** Text streams, with or without continuous image encoding beside them. */
async function streams(traffic: Traffic, withImages: boolean): Promise<void> {
  const before = traffic.engine.stats().mediaEncoded;
  const runs = Array.from({ length: STREAMS }, (_, i) =>
    traffic.start(request([user(text(`Stream ${i}${String(withImages)}`))], ANSWER_TOKENS)),
  );
  const seen: number[] = [];
  await traffic.drain(() => {
    const idle = seen.every((run) => traffic.ended.has(run));
    if (withImages && idle) seen.push(traffic.start(request([user(image(100 + seen.length), text("?"))], 1)));
    return runs.every((run) => traffic.ended.has(run));
  });
  await traffic.drain(() => seen.every((run) => traffic.ended.has(run)));
  const gaps = runs.flatMap((run) => traffic.gaps(run));
  const encoded = traffic.engine.stats().mediaEncoded - before;
  const what = withImages ? `while ${encoded} images are encoded` : "alone";
  const at = (share: number): string => `${quantile(gaps, share).toFixed(2)} ms`;
  row(`${STREAMS} streams of text ${what}: between tokens, median`, at(0.5));
  row(`${STREAMS} streams of text ${what}: between tokens, 95th percentile`, at(0.95));
  row(`${STREAMS} streams of text ${what}: between tokens, longest`, at(1));
}

async function main(): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  writeProjector(PROJECTOR, { modelWidth: 256, images: VISION_ENCODER });
  const native = openNative(unpackLibraries(CACHE), 0);
  const backend = await LlamaBackend.load(native, MODEL, BACKEND);
  const traffic = new Traffic(backend);
  row("measured", "");
  await turns(traffic);
  await streams(traffic, false);
  await streams(traffic, true);
  const { mediaEncoded, mediaSecs } = traffic.engine.stats();
  row("one encoding", `${((1000 * mediaSecs) / mediaEncoded).toFixed(0)} ms`);
  traffic.engine.close();
  backend.close();
}

await main();
