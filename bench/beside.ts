// ITL of running streams beside other load:  bun bench/beside.ts [--model qwen3-0.6b] [--pairs 3] [--words 1700] [--shares 0.1,0.5,1] [--cpu]
// Four streams alone, during the prefill of a fifth with about 4,000 tokens, and with 200 queued clients. svc and llama-server
// in alternation; with --shares svc with each of these values of prefill_share, without the clients. --cpu: one thread, and all times
// are the server's processor time, for machines that do other work.

import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { postStream } from "./http-stream.ts";
import { THREADS } from "./machine.ts";
import { namedModel } from "./model.ts";
import type { Peer } from "./peer.ts";
import { killRunning } from "./processes.ts";
import { uniformSource } from "./random.ts";
import { type RunningServer, type Side, SIDES, startServer } from "./servers.ts";
import { SseScanner } from "./sse-scan.ts";
import { median, quantile } from "./stats.ts";

const STREAMS = 4;
const IDLE_CLIENTS = 200;
/** Tokens of each stream in a phase without another end. */
const PHASE_TOKENS = 60;
const CELLS = 32_768;
/** More tokens than a stream generates in all phases. */
const ANSWER_TOKENS_MAX = 4000;

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "qwen3-0.6b" },
    pairs: { type: "string", default: "3" },
    words: { type: "string", default: "1700" }, // about 4,000 tokens
    shares: { type: "string" },
    cpu: { type: "boolean", default: false },
  },
});

function body(seed: number, words: number, maxTokens: number): string {
  const random = uniformSource(seed);
  const content = Array.from({ length: words }, () => Math.floor(random() * 1e4).toString(36)).join(" ");
  const messages = [{ role: "user", content }];
  return JSON.stringify({ model: "default", messages, max_tokens: maxTokens, temperature: 0, stream: true });
}

const threads = values.cpu ? 1 : THREADS;

/** The time of the measurement, milliseconds. */
function timeOf(server: RunningServer): number {
  return values.cpu ? server.cpuSeconds() * 1000 : performance.now();
}

/** Streams with the arrival times of their tokens. */
class Streams {
  /** Arrival times of each stream's tokens, milliseconds. */
  readonly times: number[][] = [];
  private readonly server: RunningServer;
  private waiting: (() => void) | undefined;

  constructor(server: RunningServer) {
    this.server = server;
  }

  now(): number {
    return timeOf(this.server);
  }

  start(json: string): Promise<number> {
    const times: number[] = [];
    this.times.push(times);
    const scanner = new SseScanner();
    return postStream(this.server.port, "/v1/chat/completions", json, (piece) => {
      const { tokens } = scanner.push(piece);
      const now = tokens > 0 ? this.now() : 0;
      for (let i = 0; i < tokens; i++) times.push(now);
      this.waiting?.();
    });
  }

  /** Waits until each of the first streams has `tokens` more tokens. */
  async more(tokens: number): Promise<void> {
    const goals = this.times.slice(0, STREAMS).map(({ length }) => length + tokens);
    while (goals.some((goal, i) => (this.times[i]?.length ?? 0) < goal))
      await new Promise<void>((resolve) => (this.waiting = resolve));
  }

  /** ITL of the first streams within a time span, milliseconds. */
  gaps(from: number, to: number): number[] {
    return this.times.slice(0, STREAMS).flatMap((times) =>
      times.flatMap((time, i) => {
        const before = times[i - 1];
        return before !== undefined && time > from && time <= to ? [time - before] : [];
      }),
    );
  }
}

/**
 * Four streams alone, beside a long prompt, alone again with grown contexts, with a fifth stream in the prompt's slot, and
 * with queued clients beside those five.
 */
type Phase = "alone" | "prompt" | "after" | "five" | "idle";

interface Measured {
  /** ITL of the first four streams, milliseconds. */
  readonly gaps: Readonly<Record<Phase, readonly number[]>>;
  readonly promptMs: number;
}

const cut = (): void => {}; // open streams end with the server

/** The phases with a prompt. */
async function measurePrompt(
  streams: Streams,
  seed: number,
): Promise<Pick<Measured["gaps"], "alone" | "prompt"> & Pick<Measured, "promptMs">> {
  for (let i = 0; i < STREAMS; i++) streams.start(body(seed + i, 40, ANSWER_TOKENS_MAX)).catch(cut);
  await streams.more(10);
  const begin = streams.now();
  await streams.more(PHASE_TOKENS);
  const sent = streams.now();
  await streams.start(body(seed + 100, Number(values.words), 1));
  const answered = streams.now();
  return {
    alone: streams.gaps(begin, sent),
    prompt: streams.gaps(sent, answered),
    promptMs: answered - sent,
  };
}

async function measure(server: RunningServer, seed: number): Promise<Measured> {
  const streams = new Streams(server);
  const { promptMs, ...first } = await measurePrompt(streams, seed);
  const answered = streams.now();
  await streams.more(PHASE_TOKENS);
  const again = streams.now();
  streams.start(body(seed + 200, 40, ANSWER_TOKENS_MAX)).catch(cut);
  await streams.more(10);
  const five = streams.now();
  await streams.more(PHASE_TOKENS);
  const crowd = streams.now();
  for (let i = 0; i < IDLE_CLIENTS; i++)
    streams.start(body(seed + 1000 + i, 20, ANSWER_TOKENS_MAX)).catch(cut);
  await streams.more(10);
  const settled = streams.now();
  await streams.more(PHASE_TOKENS);
  const gaps = {
    ...first,
    after: streams.gaps(answered, again),
    five: streams.gaps(five, crowd),
    idle: streams.gaps(settled, streams.now()),
  };
  return { gaps, promptMs };
}

const ms = (value: number): string => value.toFixed(1);

function print(side: Side, runs: readonly Measured[]): void {
  const of = (pick: (run: Measured) => number): number => median(runs.map(pick));
  const gap = (phase: Phase, p: number): string => ms(of(({ gaps }) => quantile(gaps[phase], p)));
  const both = (phase: Phase): string => `${gap(phase, 0.5)} / ${gap(phase, 0.95)}`;
  const times = (phase: Phase, than: Phase, p: number): string =>
    of(({ gaps }) => quantile(gaps[phase], p) / quantile(gaps[than], p)).toFixed(2);
  const columns = [
    side,
    both("alone"),
    both("prompt"),
    both("after"),
    times("prompt", "alone", 0.95),
    times("prompt", "after", 0.95),
    ms(of(({ promptMs }) => promptMs)),
    both("five"),
    both("idle"),
    times("idle", "five", 0.5),
  ];
  console.log(`| ${columns.join(" | ")} |`);
}

const COLUMNS = [
  "ITL, ms, p50 / p95",
  `${STREAMS} streams alone`,
  "beside a long prompt",
  "alone again, contexts grown",
  "p95 relative to alone",
  "and to alone again",
  "TTFT of the prompt, ms",
  `${STREAMS + 1} streams`,
  `beside ${IDLE_CLIENTS} queued clients`,
  "p50 relative to without",
];

/** First token of the prompt against gaps between tokens of the answers, for each value of prefill_share. */
async function printCurve(shares: readonly string[], modelPath: string, peer: Peer): Promise<void> {
  const rows = new Map(shares.map((share) => [share, [] as Awaited<ReturnType<typeof measurePrompt>>[]]));
  for (let pair = 0; pair < Number(values.pairs); pair++) {
    for (const [share, runs] of rows) {
      const flags = ["--prefill-share", share];
      const options = { modelPath, threads, sequences: STREAMS + 1, cells: CELLS, flags };
      const server = await startServer("svc", options, peer);
      runs.push(await measurePrompt(new Streams(server), 1 + pair * 10_000));
      await server.kill(); // four answers are under way
    }
  }
  console.log(
    "| prefill_share | TTFT of the prompt, s | ITL beside it, ms, p50 / p95 | p50 relative to alone |",
  );
  console.log("| --: | --: | --: | --: |");
  for (const [share, runs] of rows) {
    const gap = (p: number): string => ms(median(runs.map(({ prompt }) => quantile(prompt, p))));
    const times = median(runs.map(({ prompt, alone }) => quantile(prompt, 0.5) / quantile(alone, 0.5)));
    const seconds = median(runs.map(({ promptMs }) => promptMs)) / 1000;
    console.log(`| ${share} | ${seconds.toFixed(1)} | ${gap(0.5)} / ${gap(0.95)} | ${times.toFixed(2)} |`);
  }
}

async function main(): Promise<void> {
  process.on("exit", killRunning);
  const { modelPath, peer } = await namedModel(values.model, threads);
  if (values.shares !== undefined) return printCurve(values.shares.split(","), modelPath, peer);
  const runs = new Map<Side, Measured[]>(SIDES.map((side) => [side, []]));
  for (let pair = 0; pair < Number(values.pairs); pair++) {
    for (const side of SIDES) {
      // One slot more than streams, for the long prompt and then a fifth stream; the 200 clients are queued.
      const options = { modelPath, threads, sequences: STREAMS + 1, cells: CELLS };
      const server = await startServer(side, options, peer);
      runs.get(side)?.push(await measure(server, 1 + pair * 10_000));
      await server.stop();
    }
  }
  console.log(`| ${COLUMNS.join(" | ")} |`);
  console.log(`| --- ${"| --: ".repeat(COLUMNS.length - 1)}|`);
  for (const [side, measured] of runs) print(side, measured);
}

await main();
