// Measuring and tuning with a pretended engine whose speed is known.

import { describe, expect, test } from "bun:test";
import { SERVER } from "../../src/core/caller.ts";
import { bench, benchNeed } from "../../src/measure/bench.ts";
import type { MeasuredEngine } from "../../src/measure/engine.ts";
import { measureAnswer, measurePrompt } from "../../src/measure/load.ts";
import { bestOf, isSteady, rateOf } from "../../src/measure/statistics.ts";
import { chooseSequences, tune, type TuneDeps, type TunedSettings } from "../../src/measure/tune.ts";
import { itemAt } from "../../src/core/assert.ts";
import type { BenchRow } from "../../src/core/measure.ts";
import type { RunEvent, RunRequest } from "../../src/core/run.ts";

interface Speed {
  /** Seconds that a prompt token takes, and a step of all sequences together. */
  readonly promptSecs: number;
  readonly stepSecs: number;
}

/** An engine that remembers prompts and takes as long as `speed` says. */
function pretended(speed: (threads: number) => Speed, threads = 1) {
  const known = new Map<string, number>(); // prompts with their lengths
  const requests: RunRequest[] = [];
  let now = threads;
  let stopped = false;
  const engine: MeasuredEngine = {
    vocabulary: 1000,
    contextTokens: 4096,
    cells: 4096,
    hasHead: true,
    async *generate(request): AsyncGenerator<RunEvent> {
      requests.push(request);
      const { prompt } = request;
      if (prompt.type !== "text" && prompt.type !== "tokens") throw new Error("it continues texts");
      const tokens = prompt.type === "text" ? Array.from(prompt.text, (_, i) => i) : prompt.tokens;
      const text = tokens.join();
      const prefixes = [...known].filter(([prefix]) => text.startsWith(`${prefix},`));
      const cached = Math.max(0, ...prefixes.map(([, length]) => length));
      known.set(text, tokens.length);
      const completionTokens = request.maxTokens ?? 0;
      const { promptSecs, stepSecs } = speed(now);
      yield { type: "accepted", promptTokens: tokens.length };
      yield {
        type: "finish",
        usage: { promptTokens: tokens.length, cachedTokens: cached, completionTokens, reasoningTokens: 0 },
        timings: {
          promptSecs: (tokens.length - cached) * promptSecs,
          completionSecs: Math.max(0, completionTokens - 1) * stepSecs,
        },
      };
    },
    setThreads: (count) => void (now = count),
    stop: async () => void (stopped = true),
  };
  return { engine, requests, isStopped: () => stopped };
}

/** Different numbers in a fixed order. */
function counting(): () => number {
  let state = 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

const way = () => ({ repetitions: 3, random: counting(), signal: new AbortController().signal });

describe("a load", () => {
  test("computes uncached tokens after the cached depth", async () => {
    const { engine, requests } = pretended(() => ({ promptSecs: 0.01, stepSecs: 0.1 }));
    const runs = await measurePrompt(engine, { tokens: 20, depth: 30, concurrency: 2 }, way());
    expect(runs.map(({ speed }) => Math.round(speed))).toEqual([200, 200, 200]); // two sequences, 100 tokens a second each
    const longest = requests.filter(({ prompt }) => prompt.type === "tokens" && prompt.tokens.length === 50);
    expect(longest).toHaveLength(2 * (1 + 3)); // one run to warm up
    expect(longest.every(({ maxTokens }) => maxTokens === 0)).toBe(true);
  });

  test("generates tokens past the end token", async () => {
    const { engine, requests } = pretended(() => ({ promptSecs: 0.01, stepSecs: 0.1 }));
    const runs = await measureAnswer(engine, { tokens: 8, depth: 0, concurrency: 4 }, way());
    expect(runs.map(({ speed }) => Math.round(speed))).toEqual([40, 40, 40]);
    expect(
      requests.every(({ ignoreEnd, sampling }) => ignoreEnd === true && sampling.temperature === 0),
    ).toBe(true);
  });

  test("ends with the engine's error, or on abort", async () => {
    const { engine } = pretended(() => ({ promptSecs: 1, stepSecs: 1 }));
    const failing: MeasuredEngine = {
      ...engine,
      async *generate() {
        yield { type: "error", error: { code: "engine_failed", message: "it broke" } };
      },
    };
    const load = { tokens: 1, depth: 0, concurrency: 1 };
    expect(measureAnswer(failing, load, way())).rejects.toThrow("it broke");
    const silent: MeasuredEngine = { ...engine, async *generate() {} };
    const signal = AbortSignal.abort(new Error("it was stopped"));
    expect(measureAnswer(silent, load, { ...way(), signal })).rejects.toThrow("it was stopped");
  });
});

test("a bench measures each combination once, prompts first", async () => {
  const plan = { promptLens: [10, 0], genLens: [5], depths: [0, 7], concurrencies: [1, 2] };
  expect(benchNeed(plan)).toEqual({ sequences: 2, tokens: 19 });
  const { engine } = pretended(() => ({ promptSecs: 0.01, stepSecs: 0.1 }));
  const steps: string[] = [];
  const rows: BenchRow[] = [];
  for await (const row of bench(engine, plan, way(), (words) => void steps.push(words))) rows.push(row);
  expect(rows.map(({ test, tokens, depth, concurrency }) => [test, tokens, depth, concurrency])).toEqual([
    ["prompt", 10, 0, 1],
    ["prompt", 10, 0, 2],
    ["prompt", 10, 7, 1],
    ["prompt", 10, 7, 2],
    ["answer", 5, 0, 1],
    ["answer", 5, 0, 2],
    ["answer", 5, 7, 1],
    ["answer", 5, 7, 2],
  ]);
  expect(rows.every(({ tokens_per_second: { mean, sd } }) => mean > 0 && sd < 1)).toBe(true);
  expect(steps).toHaveLength(rows.length);
});

test("mean and deviation", () => {
  expect(rateOf([2, 4, 6])).toEqual({ mean: 4, sd: 2 });
  expect(rateOf([5])).toEqual({ mean: 5, sd: 0 });
});

test("of equally fast values the preferred one is chosen, else the first", () => {
  const close: [string, number][] = [
    ["few", 97],
    ["many", 100],
  ];
  expect(bestOf(close)).toBe("few");
  expect(bestOf(close, "many")).toBe("many");
  expect(bestOf([["few", 90], ...close.slice(1)], "few")).toBe("many");
  expect(bestOf([])).toBeUndefined();
});

describe("a busy machine", () => {
  /** An engine that other processes slow down, by a factor for each run in turn; the last factor stays. */
  function disturbed(factors: readonly number[]) {
    let runs = 0;
    return pretended(() => {
      const factor = factors[Math.min(runs++, factors.length - 1)] ?? 1;
      return { promptSecs: 0.01, stepSecs: 0.1 * factor };
    });
  }
  const load = { tokens: 8, depth: 0, concurrency: 1 };

  test("runs are repeated until the fastest agree", async () => {
    const { engine } = disturbed([1, 5, 1, 3, 1]);
    const runs = await measureAnswer(engine, load, way());
    const speeds = runs.map(({ speed }) => speed);
    expect(speeds.map(Math.round)).toEqual([10, 10, 10]);
    expect(isSteady(speeds)).toBe(true);
  });

  test("memory and cores are measured before and after each run; those beside the fastest count", async () => {
    const events: string[] = [];
    const speeds = [1, 1, 5, 6, 7];
    const { engine } = disturbed([1, 5, 1, 1, 1]);
    const busy: MeasuredEngine = {
      ...engine,
      generate: (request, signal) => (events.push("run"), engine.generate(request, signal, SERVER)),
    };
    const machine = async () => {
      events.push("look");
      const speed = itemAt(speeds, events.filter((event) => event === "look").length - 1);
      return { bytes_per_second: speed, products_per_second: 10 * speed };
    };
    const plan = { promptLens: [], genLens: [8], depths: [0], concurrencies: [1] };
    const [row] = await Array.fromAsync(bench(busy, plan, { ...way(), machine }, () => {}));
    expect(events.join(" ")).toBe("run look run look run look run look run look");
    expect(row?.machine).toEqual({ bytes_per_second: 6, products_per_second: 60 }); // of 1, 5, 5, 6, 6, 7
  });

  test("runs that never agree are reported as unsteady", async () => {
    let factor = 1;
    const { engine, requests } = pretended(() => ({ promptSecs: 0.01, stepSecs: (factor *= 1.3) }));
    const runs = await measureAnswer(engine, load, way());
    expect(isSteady(runs.map(({ speed }) => speed))).toBe(false);
    expect(requests.length).toBeLessThan(20);
  });
});

test.each([
  ["quality", 2],
  ["balanced", 4],
  ["fast", 8],
] as const)("for %s, %p sequences", (profile, count) => {
  const measured = [
    [1, 10],
    [2, 18],
    [4, 20],
    [8, 24],
    [16, 24],
  ] as const; // each: 10, 9, 5, 3, 1.5
  expect(chooseSequences(measured, profile)).toBe(count);
});

describe("a tuning", () => {
  /** Fastest with 4 threads for answers and all 8 for prompts, and with a ubatch of 256. */
  function deps(changes: Partial<TuneDeps> = {}) {
    const opened: TunedSettings[] = [];
    const engines: ReturnType<typeof pretended>[] = [];
    const all: TuneDeps = {
      open: async (settings) => {
        opened.push(settings);
        const isSlow = settings.ubatch !== 256;
        const made = pretended(
          (threads) => ({
            promptSecs: (isSlow ? 0.002 : 0.001) / threads,
            stepSecs: threads === 4 ? 0.01 : 0.02,
          }),
          settings.threads,
        );
        engines.push(made);
        return made.engine;
      },
      threadsMax: 8,
      batch: 2048,
      maxSeqs: 16,
      mayDraft: false,
      random: counting(),
      now: () => 0,
      onStep: () => {},
      isBusy: () => false,
      signal: new AbortController().signal,
      ...changes,
    };
    return { all, opened, engines };
  }

  test("measures one setting after the other and recommends the best of each", async () => {
    const { all, opened, engines } = deps();
    const report = await tune("m", "fast", all);
    expect(report).toMatchObject({
      model_id: "m",
      profile: "fast",
      recommended: { threads: 4, threads_batch: 8, ubatch: 256, max_seqs: 32 },
      toml: "[runtime]\nthreads = 4\nthreads_batch = 8\nubatch = 256\nmax_seqs = 32\n",
      complete: true,
      disturbed: false,
    });
    expect(
      report.measurements.filter(({ setting }) => setting === "threads").map(({ value }) => value),
    ).toEqual([8, 4, 2, 1]);
    expect(opened.at(-1)).toMatchObject({ threads: 4, threadsBatch: 8, ubatch: 256, maxSeqs: 32 });
    expect(engines.every(({ isStopped }) => isStopped())).toBe(true);
  });

  test.each([
    [0.006, 2, 'speculative = "mtp"\nmtp_n_predict = 2\n'],
    [0.0098, 0, 'speculative = "off"\n'],
  ])("lets the head of a model draft where that pays", async (stepSecs, best, lines) => {
    const open: TuneDeps["open"] = async ({ draftTokens }) =>
      pretended(() => ({ promptSecs: 0.001, stepSecs: draftTokens === 2 ? stepSecs : 0.01 })).engine;
    const { all } = deps({ open, mayDraft: true });
    const opened: (number | undefined)[] = [];
    const report = await tune("m", "fast", {
      ...all,
      open: (settings) => (opened.push(settings.draftTokens), open(settings)),
    });
    expect(report.recommended.mtp_n_predict).toBe(best);
    expect(report.toml).toContain(lines);
    expect(opened.slice(-5)).toEqual([0, 1, 2, 4, best]);
  });

  test("long drafts are tried where the usual ones pay best", async () => {
    const opened: (number | undefined)[] = [];
    const open: TuneDeps["open"] = async ({ draftTokens = 0 }) => {
      opened.push(draftTokens);
      return pretended(() => ({ promptSecs: 0.001, stepSecs: 0.01 / (1 + draftTokens) })).engine;
    };
    const report = await tune("m", "fast", deps({ open, mayDraft: true }).all);
    expect(report.recommended.mtp_n_predict).toBe(8);
    expect(opened.slice(-6)).toEqual([0, 1, 2, 4, 8, 8]);
  });

  test("ends at the time limit and reports it", async () => {
    let now = 0;
    const { all } = deps({ now: () => (now += 100_000) });
    const { complete, measurements, recommended } = await tune("m", "balanced", all);
    expect(complete).toBe(false);
    expect(new Set(measurements.map(({ setting }) => setting)).size).toBe(3); // each has at least one value
    expect(recommended.max_seqs).toBe(1);
  });

  test("reports requests that ran at the same time", async () => {
    const { all } = deps({ isBusy: () => true });
    expect((await tune("m", "balanced", all)).disturbed).toBe(true);
  });

  test("recommends nothing for settings with unsteady runs", async () => {
    let factor = 1;
    const open: TuneDeps["open"] = async () =>
      pretended(() => ({ promptSecs: 0.001, stepSecs: 0.01 * (factor = factor > 100 ? 1 : factor * 1.5) }))
        .engine;
    const report = await tune("m", "fast", deps({ open }).all);
    expect(report.undecided).toEqual(["threads", "max_seqs"]);
    expect(report.recommended).toMatchObject({ threads: 8, max_seqs: 16 });
    expect(report.toml).toBe("[runtime]\nthreads_batch = 8\nubatch = 512\n");
  });

  test("stops its engine on failure", async () => {
    const { all, engines } = deps();
    const broken = async (settings: TunedSettings) => ({
      ...(await all.open(settings)),
      setThreads: () => {
        throw new Error("broken");
      },
    });
    expect(tune("m", "balanced", { ...all, open: broken })).rejects.toThrow("broken");
    await Bun.sleep(0);
    expect(engines.every(({ isStopped }) => isStopped())).toBe(true);
  });
});
