// Measures rows of the table: the sides in alternation, with a fresh server each, so that no run finds a warm cache and
// only one server runs at a time.

import { availableParallelism } from "node:os";
import { join } from "node:path";
import { execText } from "./exec.ts";
import { loadArgs, type LoadOptions, type LoadResult } from "./load.ts";
import type { ModelName } from "./model.ts";
import { ROOT, type Peer } from "./peer.ts";
import { machineBusySeconds } from "./processes.ts";
import {
  type CostPair,
  type CostRow,
  type Measurement,
  type Row,
  OTHER_PROCESSES_SHARE_MAX,
} from "./report.ts";
import { type CostFigure, ONCE, type Scenario } from "./scenarios.ts";
import { startServer, type RunningServer, type Side } from "./servers.ts";
import { median } from "./stats.ts";

/** Definition of a row. */
export interface RowTask {
  readonly model: ModelName;
  readonly modelPath: string;
  readonly scenario: Scenario;
  readonly streams: number;
  /** The first is compared with each of the others. */
  readonly sides: readonly [Side, Side, ...Side[]];
  readonly pairs: number;
  /** Compute threads of each server. */
  readonly threads: number;
  /** Tokens of a `long` answer. */
  readonly longTokens: number;
  /** A quarter of the requests, without repeats of disturbed pairs. */
  readonly quick: boolean;
}

// A pair disturbed by other processes is repeated a limited number of times; then the report has a remark.
const REPEATS_MAX = 2;
const QUIET_MS_MAX = 60_000;
// Generous: 64 answers of 128 tokens at 10 tokens/s, or one of 16,384 tokens with cost per token linear in its length.
const CLIENT_MS_MAX = 30 * 60_000;

/** A row beside one of the other sides. */
export interface SideRow {
  readonly sides: readonly [Side, Side];
  readonly row: Row;
}

/**
 * Runs the rounds of a row, A B A B or A B C A B C: a row for each side but the first, without those that failed. Throws if the first one
 * does not start or loses a connection twice.
 */
export async function measureRows(task: RowTask, peer: Peer): Promise<readonly SideRow[]> {
  const measure = async (side: Side, seed: number): Promise<readonly [Measurement]> => {
    const { body } = task.scenario;
    return [await withServer(task, side, peer, (server) => measureLoad(task, server, seed, body))];
  };
  const [first, ...others] = task.sides;
  const [left = [], ...rights] = await measureRounds(task, measure);
  const { model, streams, scenario } = task;
  return others.flatMap((side, index) => {
    const right = rights[index] ?? [];
    if (right.length === 0) return [];
    const row = { model, scenario: scenario.name, streams, left: left.flat(), right: right.flat() };
    return [{ sides: [first, side] as const, row }];
  });
}

/** Runs the pairs of a cost row: each server answers with the scenario's body and without. */
export async function measureCost(task: RowTask, figure: CostFigure, peer: Peer): Promise<CostRow> {
  // The two have different prompts, so that neither gets prefix hits of the other; their order alternates with the pair.
  const measure = (side: Side, seed: number): Promise<CostPair> =>
    withServer(task, side, peer, async (server) => {
      const dear = () => measureLoad(task, server, 2 * seed, task.scenario.body);
      const plain = () => measureLoad(task, server, 2 * seed + 1, {});
      if (seed % 2 === 1) return [await dear(), await plain()];
      const without = await plain();
      return [await dear(), without];
    });
  const [left = [], right = []] = await measureRounds(task, measure);
  return { model: task.model, scenario: task.scenario.name, streams: task.streams, figure, left, right };
}

/** Measurements of each side, by round; none of a side other than the first that failed. */
async function measureRounds<One extends readonly Measurement[]>(
  { sides, pairs, quick }: RowTask,
  measure: (side: Side, seed: number) => Promise<One>,
): Promise<readonly (readonly One[])[]> {
  const measured: One[][] = sides.map(() => []);
  const failed = new Set<number>();
  for (let round = 0, repeat = 0; round < pairs;) {
    // All sides of a round get the same prompts; each round gets others.
    const results: (One | undefined)[] = [];
    for (const [index, side] of sides.entries())
      results.push(failed.has(index) ? undefined : await measuredOr(index, side, round + 1));
    const all = results.flatMap((result) => result ?? []);
    const otherProcesses = Math.max(...all.map(({ otherProcessesShare }) => otherProcessesShare));
    if (quick || otherProcesses <= OTHER_PROCESSES_SHARE_MAX || repeat === REPEATS_MAX) {
      for (const [index, result] of results.entries())
        if (result !== undefined) measured[index]?.push(result);
      round++;
      repeat = 0;
    } else {
      const percent = Math.round(otherProcesses * 100);
      console.error(`bench: other processes used ${percent} % of the machine, measuring again`);
      repeat++;
    }
  }
  return measured.map((list, index) => (failed.has(index) ? [] : list));

  async function measuredOr(index: number, side: Side, seed: number): Promise<One | undefined> {
    try {
      return await measure(side, seed);
    } catch (error) {
      if (index === 0) throw error;
      console.error(`bench: ${side} failed and is left out: ${String(error)}`);
      failed.add(index);
      return undefined;
    }
  }
}

/** Runs `measure` with a fresh server. */
async function withServer<T>(
  task: RowTask,
  side: Side,
  peer: Peer,
  measure: (server: RunningServer) => Promise<T>,
): Promise<T> {
  const { model, scenario, streams } = task;
  // Without a model argument svc serves its built-in model, the case to measure.
  const modelPath = model === "builtin" && side === "svc" ? undefined : task.modelPath;
  const cells = (scenario.promptCells + answerTokens(task)) * streams;
  await untilQuiet();
  const { threads } = task;
  const flags = side === "svc" ? (scenario.flags ?? []) : [];
  const server = await startServer(side, { modelPath, threads, sequences: streams, cells, flags }, peer);
  try {
    return await measure(server);
  } finally {
    await server.stop();
  }
}

function answerTokens({ scenario, longTokens }: RowTask): number {
  return scenario.maxTokens === "long" ? longTokens : scenario.maxTokens;
}

type Body = Scenario["body"];

async function measureLoad(
  task: RowTask,
  server: RunningServer,
  seed: number,
  body: Body,
): Promise<Measurement> {
  const measured = await runLoad(server, { ...loadOptions(task, server.port, seed), body });
  const { tokensPerSecond, ttftP50Ms, itlEndMs } = measured.load;
  const speed = `${tokensPerSecond.toFixed(1)} tokens/s, TTFT ${ttftP50Ms.toFixed(1)} ms, end ${itlEndMs.toFixed(2)} ms`;
  const what = `${task.model} ${task.scenario.name} ${task.streams} streams, prompts ${seed}`;
  const fields =
    task.scenario.cost === undefined ? "" : ` ${body === task.scenario.body ? "with" : "without"}`;
  console.error(`bench: ${what}, ${server.side}${fields}: ${speed}`);
  return measured;
}

function loadOptions(task: RowTask, port: number, seed: number): Omit<LoadOptions, "body"> {
  const { model, scenario, streams, quick } = task;
  const { perStream, min } = scenario.requests[model] ?? ONCE;
  const full = Math.max(perStream * streams, min);
  return {
    port,
    streams,
    requests: quick ? Math.max(streams, Math.ceil(full / 4)) : full,
    maxTokens: answerTokens(task),
    words: scenario.words,
    sharedWords: scenario.sharedWords,
    ask: scenario.ask ?? "",
    seed,
    warmup: streams,
    model: "default",
  };
}

/** Runs the client with warm-up, and measures the CPU time of server, client and other processes. */
async function runLoad(server: RunningServer, options: LoadOptions): Promise<Measurement> {
  const start = performance.now();
  const busyBefore = machineBusySeconds();
  const serverBefore = server.cpuSeconds();
  const { result, cpuSeconds: clientCpuSeconds } = await runClient(options);
  const serverCpuSeconds = server.cpuSeconds() - serverBefore;
  const otherProcesses = machineBusySeconds() - busyBefore - serverCpuSeconds - clientCpuSeconds;
  const available = ((performance.now() - start) / 1000) * availableParallelism();
  return {
    load: result,
    memory: server.memory(),
    serverCpuSeconds,
    otherProcessesShare: Math.max(0, otherProcesses) / available,
  };
}

async function runClient(options: LoadOptions): Promise<{ result: LoadResult; cpuSeconds: number }> {
  const command = [process.execPath, join(import.meta.dir, "load.ts"), ...loadArgs(options)];
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: 2, timeout: CLIENT_MS_MAX });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error("the load client failed");
  const result = JSON.parse(text) as LoadResult; // output of load.ts
  return { result, cpuSeconds: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6 };
}

/** Waits until the machine is nearly idle for 1 second, at most QUIET_MS_MAX. */
async function untilQuiet(): Promise<void> {
  const deadline = performance.now() + QUIET_MS_MAX;
  while (performance.now() < deadline) {
    const before = machineBusySeconds();
    await Bun.sleep(1000);
    if ((machineBusySeconds() - before) / availableParallelism() < OTHER_PROCESSES_SHARE_MAX) return;
  }
}

/** Tokens per second of llama-bench's decode loop, one sequence, without a server: median of one run per pair. */
export async function bareDecodeSpeed(
  modelPath: string,
  { pairs: repeats, threads }: Pick<RowTask, "pairs" | "threads">,
  peer: Peer,
): Promise<number> {
  const speeds: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    const size = ["-p", "0", "-n", "128", "-r", "1", "-t", String(threads)];
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
