// Benchmark of all combinations of a plan, one after the other.

import { SLOTS_MAX } from "../core/limits.ts";
import type { BenchRow, MachineSpeed } from "../core/measure.ts";
import type { EngineNeed, MeasuredEngine } from "./engine.ts";
import { type Load, measureAnswer, measurePrompt, type Way } from "./load.ts";
import { isSteady, medianOf, rateOf } from "./statistics.ts";

export interface BenchPlan {
  readonly promptLens: readonly number[];
  readonly genLens: readonly number[];
  readonly depths: readonly number[];
  readonly concurrencies: readonly number[];
}

interface Step extends Load {
  readonly test: BenchRow["test"];
}

/** Engine size that the plan needs. Throws for more sequences than an engine can hold. */
export function benchNeed(plan: BenchPlan): EngineNeed {
  const steps = stepsOf(plan);
  const need = {
    sequences: Math.max(1, ...steps.map(({ concurrency }) => concurrency)),
    // One token begins an answer, one more comes before its clock starts.
    tokens: Math.max(1, ...steps.map(({ depth, tokens }) => depth + tokens + 2)),
  };
  // The prefix cache takes as many slots again.
  if (2 * need.sequences > SLOTS_MAX)
    throw new Error(`at most ${SLOTS_MAX / 2} sequences can be measured at once`);
  return need;
}

/** Measures step by step; `onStep` is called before each. Throws the engine's reason, or the signal's. */
export async function* bench(
  engine: MeasuredEngine,
  plan: BenchPlan,
  way: Way,
  onStep: (words: string) => void,
): AsyncGenerator<BenchRow> {
  const steps = stepsOf(plan);
  for (const [index, { test, ...load }] of steps.entries()) {
    const place = `${index + 1} of ${steps.length}`;
    onStep(`${place}: ${test} ${load.tokens}, depth ${load.depth}, ${load.concurrency} at once`);
    const measure = test === "prompt" ? measurePrompt : measureAnswer;
    const runs = await measure(engine, load, way);
    const speeds = runs.map(({ speed }) => speed);
    const beside = runs.flatMap((run) => run.beside);
    yield {
      test,
      ...load,
      repetitions: way.repetitions,
      steady: isSteady(speeds),
      tokens_per_second: rateOf(speeds),
      ...(beside.length === 0 ? {} : { machine: medianSpeed(beside) }),
    };
  }
}

function medianSpeed(list: readonly MachineSpeed[]): MachineSpeed {
  return {
    bytes_per_second: medianOf(list.map((one) => one.bytes_per_second)),
    products_per_second: medianOf(list.map((one) => one.products_per_second)),
  };
}

function stepsOf({ promptLens, genLens, depths, concurrencies }: BenchPlan): readonly Step[] {
  const all = (test: Step["test"], lengths: readonly number[]): Step[] =>
    depths.flatMap((depth) =>
      concurrencies.flatMap((concurrency) =>
        lengths.filter((tokens) => tokens > 0).map((tokens) => ({ test, tokens, depth, concurrency })),
      ),
    );
  return [...all("prompt", promptLens), ...all("answer", genLens)];
}
