// Measures one load: so many sequences that read or write so many tokens. The times are the engine's own; the whole path
// of a request is in them, sampling and scheduling included, but no HTTP.

import type { RunEvent, RunRequest } from "../core/run.ts";
import { DEFAULT_SAMPLING } from "../core/sampling.ts";
import type { MeasuredEngine } from "./engine.ts";

export interface Load {
  /** Tokens that each sequence reads or writes, 1 or more. */
  readonly tokens: number;
  /** Tokens that are in the cache before. */
  readonly depth: number;
  readonly concurrency: number;
}

/** How a load is measured: once to warm up, then for each repetition. */
export interface Way {
  readonly repetitions: number;
  /** Evenly spread in [0, 1). */
  readonly random: () => number;
  readonly signal: AbortSignal;
}

type Finish = Extract<RunEvent, { readonly type: "finish" }>;

/** Tokens a second of reading prompts, one value a repetition. Throws the engine's reason, or the signal's. */
export async function measurePrompt(
  engine: MeasuredEngine,
  load: Load,
  way: Way,
): Promise<readonly number[]> {
  const beginnings = prompts(engine, load.depth, load.concurrency, way);
  return repeat(way, async () => {
    await fill(engine, beginnings, way.signal);
    // Every repetition has tokens of its own, or the cache would know them.
    const endings = prompts(engine, load.tokens, load.concurrency, way);
    const whole = endings.map((ending, i) => [...(beginnings[i] ?? []), ...ending]);
    const finished = await runAll(engine, whole, 0, way.signal);
    const tokens = finished.reduce((sum, { usage }) => sum + usage.promptTokens - usage.cachedTokens, 0);
    return tokens / Math.max(...finished.map(({ timings }) => timings.promptSecs));
  });
}

/** Tokens a second of writing answers, of all sequences together, one value a repetition. Throws as measurePrompt. */
export async function measureAnswer(
  engine: MeasuredEngine,
  load: Load,
  way: Way,
): Promise<readonly number[]> {
  const beginnings = prompts(engine, Math.max(1, load.depth), load.concurrency, way);
  return repeat(way, async () => {
    await fill(engine, beginnings, way.signal);
    // The clock starts with the first token.
    const finished = await runAll(engine, beginnings, load.tokens + 1, way.signal);
    const tokens = finished.reduce((sum, { usage }) => sum + usage.completionTokens - 1, 0);
    return tokens / Math.max(...finished.map(({ timings }) => timings.completionSecs));
  });
}

async function repeat(way: Way, once: () => Promise<number>): Promise<readonly number[]> {
  await once();
  const speeds: number[] = [];
  while (speeds.length < way.repetitions) speeds.push(await once());
  return speeds;
}

/** Sees to it that the prompts are in the cache, as far as there is room. */
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
  return Promise.all(list.map((tokens) => run(engine, request(tokens, maxTokens), signal)));
}

function request(tokens: readonly number[], maxTokens: number): RunRequest {
  return {
    model: "default",
    prompt: { type: "tokens", tokens },
    sampling: { ...DEFAULT_SAMPLING, temperature: 0 },
    stop: [],
    maxTokens,
    choices: 1,
    truncate: false,
    ignoreEnd: true,
  };
}

async function run(engine: MeasuredEngine, request: RunRequest, signal: AbortSignal): Promise<Finish> {
  for await (const event of engine.generate(request, signal)) {
    if (event.type === "error") throw new Error(event.error.message);
    if (event.type === "finish") return event;
  }
  signal.throwIfAborted();
  throw new Error("the engine ended a run without a word");
}
