// Measures one load: a number of sequences that prefill or decode a number of tokens. Times are the engine's: sampling and
// scheduling included, HTTP not.

import { SERVER } from "../core/caller.ts";
import type { BenchRow, MachineSpeed } from "../core/measure.ts";
import type { RunEvent, RunRequest } from "../core/run.ts";
import { DEFAULT_SAMPLING } from "../core/sampling.ts";
import type { MeasuredEngine } from "./engine.ts";
import { isSteady } from "./statistics.ts";

/** Tokens of each sequence: 1 or more. */
export type Load = Pick<BenchRow, "tokens" | "depth" | "concurrency">;

/** How a load is measured: one warm-up run, then repetitions until they agree. */
export interface Way {
  readonly repetitions: number;
  /** Evenly spread in [0, 1). */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Measures memory and cores before and after each run, while the engine is idle: their speed changes within minutes. */
  readonly machine?: () => Promise<MachineSpeed>;
}

/** A repetition. */
export interface Timed {
  /** Tokens/s. */
  readonly speed: number;
  /** What the machine gave before and after. */
  readonly beside: readonly MachineSpeed[];
}

type Finish = Extract<RunEvent, { readonly type: "finish" }>;

/** Prefill speed, one value for each repetition. Throws the engine's reason, or the signal's. */
export async function measurePrompt(engine: MeasuredEngine, load: Load, way: Way): Promise<readonly Timed[]> {
  const beginnings = prompts(engine, load.depth, load.concurrency, way);
  return repeat(way, async () => {
    await fill(engine, beginnings, way.signal);
    // New tokens for every repetition: equal ones would be prefix hits.
    const endings = prompts(engine, load.tokens, load.concurrency, way);
    const whole = endings.map((ending, i) => [...(beginnings[i] ?? []), ...ending]);
    const finished = await runAll(engine, whole, 0, way.signal);
    const tokens = finished.reduce((sum, { usage }) => sum + usage.promptTokens - usage.cachedTokens, 0);
    return tokens / Math.max(...finished.map(({ timings }) => timings.promptSecs));
  });
}

/** Decode speed of all sequences together, one value for each repetition. Throws as measurePrompt. */
export async function measureAnswer(engine: MeasuredEngine, load: Load, way: Way): Promise<readonly Timed[]> {
  const beginnings = prompts(engine, Math.max(1, load.depth), load.concurrency, way);
  return repeat(way, async () => {
    await fill(engine, beginnings, way.signal);
    // The clock starts with the first token.
    const finished = await runAll(engine, beginnings, load.tokens + 1, way.signal);
    const tokens = finished.reduce((sum, { usage }) => sum + usage.completionTokens - 1, 0);
    return tokens / Math.max(...finished.map(({ timings }) => timings.completionSecs));
  });
}

/** Beginnings that models continue in different ways: prose, code, a list, a conversation. All are below 64 tokens. */
const TEXTS = [
  "The history of the lighthouse begins with a fire on a hill. Sailors",
  'def fibonacci(n):\n    """Return the n-th Fibonacci number."""\n',
  "Things to bring on a hike:\n1. Water\n2. A map\n3.",
  "Question: Why is the sky blue?\nAnswer:",
] as const;

/** Decode speed of readable texts, one after the other, one value for each repetition. Throws as measurePrompt. */
export async function measureTexts(
  engine: MeasuredEngine,
  tokens: number,
  way: Way,
): Promise<readonly Timed[]> {
  return repeat(way, async () => {
    let written = 0;
    let secs = 0;
    for (const text of TEXTS) {
      const { usage, timings } = await run(engine, request({ type: "text", text }, tokens + 1), way.signal);
      written += usage.completionTokens - 1;
      secs += timings.completionSecs;
    }
    return written / secs;
  });
}

/** Runs are repeated up to this many times the wanted repetitions until the fastest of them agree. */
const REPEATS_MAX = 4;

/** The fastest runs, as many as wanted: other processes only slow runs down. isSteady says whether they agree. */
async function repeat({ repetitions, machine }: Way, once: () => Promise<number>): Promise<readonly Timed[]> {
  const look = async (): Promise<readonly MachineSpeed[]> => (machine === undefined ? [] : [await machine()]);
  await once();
  const runs: Timed[] = [];
  for (let before = await look(); ;) {
    const speed = await once();
    const after = await look();
    runs.push({ speed, beside: [...before, ...after] });
    before = after;
    if (runs.length < repetitions) continue;
    const kept = runs.toSorted((a, b) => b.speed - a.speed).slice(0, repetitions);
    if (isSteady(kept.map((run) => run.speed)) || runs.length >= repetitions * REPEATS_MAX) return kept;
  }
}

/** Computes the prompts, so that they are in the cache as far as there is room. */
async function fill(
  engine: MeasuredEngine,
  list: readonly (readonly number[])[],
  signal: AbortSignal,
): Promise<void> {
  if (list.some((prompt) => prompt.length > 1)) await runAll(engine, list, 0, signal);
}

function prompts(engine: MeasuredEngine, tokens: number, count: number, { random }: Way): number[][] {
  return Array.from({ length: count }, () =>
    Array.from({ length: tokens }, () => Math.floor(random() * engine.vocabulary)),
  );
}

function runAll(
  engine: MeasuredEngine,
  list: readonly (readonly number[])[],
  maxTokens: number,
  signal: AbortSignal,
): Promise<readonly Finish[]> {
  return Promise.all(
    list.map((tokens) => run(engine, request({ type: "tokens", tokens }, maxTokens), signal)),
  );
}

function request(prompt: RunRequest["prompt"], maxTokens: number): RunRequest {
  return {
    model: "default",
    prompt,
    sampling: { ...DEFAULT_SAMPLING, temperature: 0 },
    stop: [],
    maxTokens,
    choices: 1,
    truncate: false,
    ignoreEnd: true,
  };
}

async function run(engine: MeasuredEngine, request: RunRequest, signal: AbortSignal): Promise<Finish> {
  for await (const event of engine.generate(request, signal, SERVER)) {
    if (event.type === "error") throw new Error(event.error.message);
    if (event.type === "finish") return event;
  }
  signal.throwIfAborted();
  throw new Error("the engine ended a run without a result");
}
