// Measures one row of the table: the two sides in turn, a fresh server each time, so that no run finds a cache filled by
// another and only one server exists while it is measured.

import { availableParallelism } from "node:os";
import { join } from "node:path";
import { execText } from "./exec.ts";
import { loadArgs, type LoadOptions, type LoadResult } from "./load.ts";
import { THREADS } from "./machine.ts";
import type { ModelName } from "./model.ts";
import { ROOT, type Peer } from "./peer.ts";
import { machineBusySeconds } from "./processes.ts";
import { STRANGERS_SHARE_MAX, type Measurement, type Row } from "./report.ts";
import type { Scenario } from "./scenarios.ts";
import { startServer, type RunningServer, type Side } from "./servers.ts";
import { median } from "./stats.ts";

/** What a row is about. */
export interface RowTask {
  readonly model: ModelName;
  readonly modelPath: string;
  readonly scenario: Scenario;
  readonly streams: number;
  readonly sides: readonly [Side, Side];
  readonly pairs: number;
  /** A quarter of the requests, and disturbed pairs are not repeated. */
  readonly quick: boolean;
}

// A pair that other processes disturbed is measured again, but not for ever: then the report says so.
const REPEATS_MAX = 2;
const QUIET_MS_MAX = 60_000;
// Generous: 64 answers of 128 tokens at 10 tokens/s.
const CLIENT_MS_MAX = 15 * 60_000;

/** Runs the pairs of a row, A B A B. Throws when a server does not start or a connection breaks twice. */
export async function measureRow(task: RowTask, peer: Peer): Promise<Row> {
  const left: Measurement[] = [];
  const right: Measurement[] = [];
  for (let pair = 1; pair <= task.pairs; pair++) {
    const [first, second] = await measurePair(task, pair, peer);
    left.push(first);
    right.push(second);
  }
  return { model: task.model, scenario: task.scenario.name, streams: task.streams, left, right };
}

async function measurePair(
  task: RowTask,
  pair: number,
  peer: Peer,
): Promise<readonly [Measurement, Measurement]> {
  for (let repeat = 0; ; repeat++) {
    // Both sides of a pair get the same prompts, every pair gets its own.
    const first = await measureSide(task, task.sides[0], pair, peer);
    const second = await measureSide(task, task.sides[1], pair, peer);
    const strangers = Math.max(first.strangersShare, second.strangersShare);
    if (task.quick || strangers <= STRANGERS_SHARE_MAX || repeat === REPEATS_MAX) return [first, second];
    console.error(
      `bench: other processes used ${Math.round(strangers * 100)} % of the machine, measuring again`,
    );
  }
}

async function measureSide(task: RowTask, side: Side, seed: number, peer: Peer): Promise<Measurement> {
  const { model, scenario, streams } = task;
  // svc serves its built-in model when none is named: that is the case to measure.
  const modelPath = model === "builtin" && side === "svc" ? undefined : task.modelPath;
  const cells = scenario.cellsPerStream * streams;
  await untilQuiet();
  const server = await startServer(side, { modelPath, sequences: streams, cells }, peer);
  try {
    const measured = await measureLoad(server, loadOptions(task, server.port, seed));
    const { tokensPerSecond, ttftP50Ms } = measured.load;
    const speed = `${tokensPerSecond.toFixed(1)} tokens/s, TTFT ${ttftP50Ms.toFixed(1)} ms`;
    console.error(`bench: ${model} ${scenario.name} ${streams} streams, pair ${seed}, ${side}: ${speed}`);
    return measured;
  } finally {
    await server.stop();
  }
}

function loadOptions({ model, scenario, streams, quick }: RowTask, port: number, seed: number): LoadOptions {
  const { perStream, min } = scenario.requests[model];
  const full = Math.max(perStream * streams, min);
  return {
    port,
    streams,
    requests: quick ? Math.max(streams, Math.ceil(full / 4)) : full,
    maxTokens: scenario.maxTokens,
    words: scenario.words,
    sharedWords: scenario.sharedWords,
    seed,
    warmup: streams,
    model: "default",
    body: scenario.body,
  };
}

/** Runs the client, warm-up included, and keeps account of who used the processor meanwhile. */
async function measureLoad(server: RunningServer, options: LoadOptions): Promise<Measurement> {
  const start = performance.now();
  const busyBefore = machineBusySeconds();
  const serverBefore = server.cpuSeconds();
  const { result, cpuSeconds: clientCpuSeconds } = await runClient(options);
  const serverCpuSeconds = server.cpuSeconds() - serverBefore;
  const strangers = machineBusySeconds() - busyBefore - serverCpuSeconds - clientCpuSeconds;
  const available = ((performance.now() - start) / 1000) * availableParallelism();
  return {
    load: result,
    memory: server.memory(),
    serverCpuSeconds,
    strangersShare: Math.max(0, strangers) / available,
  };
}

async function runClient(options: LoadOptions): Promise<{ result: LoadResult; cpuSeconds: number }> {
  const command = [process.execPath, join(import.meta.dir, "load.ts"), ...loadArgs(options)];
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: 2, timeout: CLIENT_MS_MAX });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error("the load client failed");
  const result = JSON.parse(text) as LoadResult; // our own program's output
  return { result, cpuSeconds: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6 };
}

/** Waits until the machine has been nearly idle for a second, but starts anyway after QUIET_MS_MAX. */
async function untilQuiet(): Promise<void> {
  const deadline = performance.now() + QUIET_MS_MAX;
  while (performance.now() < deadline) {
    const before = machineBusySeconds();
    await Bun.sleep(1000);
    if ((machineBusySeconds() - before) / availableParallelism() < STRANGERS_SHARE_MAX) return;
  }
}

/** Tokens per second of llama.cpp's bare decode loop, one sequence, without any server: the median of `repeats` runs. */
export async function bareDecodeSpeed(modelPath: string, repeats: number, peer: Peer): Promise<number> {
  const speeds: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    const size = ["-p", "0", "-n", "128", "-r", "1", "-t", String(THREADS)];
    const results: unknown = JSON.parse(
      await execText([peer.bench, "-m", modelPath, ...size, "-o", "json"], ROOT),
    );
    speeds.push(averageSpeed(results));
  }
  return median(speeds);
}

function averageSpeed(results: unknown): number {
  const [first] = Array.isArray(results) ? (results as readonly unknown[]) : [];
  const speed = typeof first === "object" && first !== null && "avg_ts" in first ? first.avg_ts : undefined;
  if (typeof speed !== "number") throw new Error("llama-bench reported no avg_ts");
  return speed;
}
