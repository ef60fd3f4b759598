// Closed-loop load generator for /v1/chat/completions: each of N streams sends its next request when its previous one ends.
// Runs in its own process, so that client work is not measured, and prints one JSON line.
//
//   bun bench/load.ts --port P [--streams 8] [--requests 32] [--max 128] [--words 64] [--shared-words 0]
//                     [--seed 1] [--warmup 0] [--ask TEXT] [--model default] [--body '{"temperature":1}']

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ConnectionLost, postStream } from "./http-stream.ts";
import { uniformSource } from "./random.ts";
import { SseScanner } from "./sse-scan.ts";
import { quantile } from "./stats.ts";

/** Parameters of the load. Counts are totals over all streams. */
export interface LoadOptions {
  readonly port: number;
  readonly streams: number;
  readonly requests: number;
  /** max_tokens of every request. */
  readonly maxTokens: number;
  /** Random words of each user message. */
  readonly words: number;
  /** Random words of a system message that all requests share; 0 sends none. */
  readonly sharedWords: number;
  /** What is asked of a passage of this repository's pages, in place of random words; empty: nothing. */
  readonly ask: string;
  /** Seed of the prompts: both servers of a pair get equal prompts. */
  readonly seed: number;
  /** Short requests before the measurement, with other prompts. */
  readonly warmup: number;
  readonly model: string;
  /** Fields added to every request body. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Results. Latencies in milliseconds. */
export interface LoadResult {
  readonly seconds: number;
  /** Requests answered with an error status or an error inside the stream. */
  readonly errors: number;
  /** Requests sent twice because the server dropped the connection before answering. */
  readonly resets: number;
  /** From the servers' usage fields. */
  readonly tokens: number;
  /** Prompt tokens of all answered requests, from the usage fields. */
  readonly promptTokens: number;
  /** Prompt tokens over the sum of the times to the first token: the prefill speed if there is one stream. */
  readonly promptTokensPerSecond: number;
  readonly warmupTokens: number;
  readonly tokensPerSecond: number;
  /** Minimum and maximum tokens of an answer. */
  readonly answerTokensMin: number;
  readonly answerTokensMax: number;
  /** From sending a request to its first text. */
  readonly ttftP50Ms: number;
  readonly ttftP95Ms: number;
  /** Between successive text arrivals of an answer. */
  readonly itlP50Ms: number;
  readonly itlP95Ms: number;
  /** Mean time per token over the last tenth of the answers: shows a cost that grows with length. */
  readonly itlEndMs: number;
  /** CPU time of this client, which competes with the server. */
  readonly clientCpuSeconds: number;
}

/** Command-line arguments that `main` parses to the same options. */
export function loadArgs(options: LoadOptions): string[] {
  const flags = {
    port: options.port,
    streams: options.streams,
    requests: options.requests,
    max: options.maxTokens,
    words: options.words,
    "shared-words": options.sharedWords,
    ask: options.ask,
    seed: options.seed,
    warmup: options.warmup,
    model: options.model,
    body: JSON.stringify(options.body),
  };
  return Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

const WORDS = (
  "alpha beta gamma delta river mountain cloud stone light paper engine window garden winter copper silver forest " +
  "island harbor signal"
).split(" ");

// Random words and tokens of a warm-up request: enough to run every code path once.
const WARMUP = { words: 16, maxTokens: 16 } as const;

/** Figures of all requests so far. */
interface Tally {
  errors: number;
  resets: number;
  readonly answerTokens: number[];
  promptTokens: number;
  readonly ttftMs: number[];
  readonly itlMs: number[];
  /** Time and tokens of the last tenth of each answer. */
  readonly end: { ms: number; tokens: number };
}

async function load(options: LoadOptions): Promise<LoadResult> {
  const { warmup, words, maxTokens } = { ...options, ...WARMUP };
  const warm = await drive({
    ...options,
    words,
    maxTokens,
    sharedWords: 0,
    requests: warmup,
    seed: options.seed + 1e6,
  });
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  const tally = await drive(options);
  const seconds = (performance.now() - start) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  return summarize(tally, warm, seconds, (cpu.user + cpu.system) / 1e6);
}

async function drive(options: LoadOptions): Promise<Tally> {
  const tally: Tally = {
    errors: 0,
    resets: 0,
    answerTokens: [],
    promptTokens: 0,
    ttftMs: [],
    itlMs: [],
    end: { ms: 0, tokens: 0 },
  };
  const bodies = requestBodies(options);
  let next = 0;
  const stream = async (): Promise<void> => {
    for (let body = bodies[next++]; body !== undefined; body = bodies[next++])
      await one(options.port, body, tally);
  };
  await Promise.all(Array.from({ length: options.streams }, stream));
  return tally;
}

/** Bodies are generated in advance, outside the measured time. */
function requestBodies(options: LoadOptions): string[] {
  const { ask } = options;
  const random = uniformSource(options.seed);
  const text = (count: number): string =>
    ask === ""
      ? Array.from({ length: count }, () => WORDS[Math.floor(random() * WORDS.length)]).join(" ")
      : passage(count, random());
  const shared = text(options.sharedWords);
  const system = options.sharedWords === 0 ? [] : [{ role: "system", content: shared }];
  return Array.from({ length: options.requests }, (_, index) =>
    JSON.stringify({
      model: options.model,
      messages: [...system, { role: "user", content: `${ask === "" ? index : ask} ${text(options.words)}` }],
      max_tokens: options.maxTokens,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
      ...options.body,
    }),
  );
}

/** A number of words of the pages in `docs`, from a place in [0, 1) on. */
function passage(count: number, place: number): string {
  const folder = join(import.meta.dir, "../docs");
  const pages = readdirSync(folder).filter((name) => name.endsWith(".md"));
  const words = pages
    .sort()
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split(/(?<=\s)(?=\S)/));
  const start = Math.floor(place * Math.max(0, words.length - count));
  return words
    .slice(start, start + count)
    .join("")
    .trim();
}

async function one(port: number, body: string, tally: Tally): Promise<void> {
  const scanner = new SseScanner();
  const gaps: number[] = [];
  const start = performance.now();
  let last = 0;
  let tokens = 0;
  let errors = 0;
  const onBody = (text: string): void => {
    const found = scanner.push(text);
    tokens += found.usageTokens;
    tally.promptTokens += found.promptTokens;
    errors += found.errors;
    if (found.tokens === 0) return;
    const now = performance.now();
    if (last === 0) tally.ttftMs.push(now - start);
    else gaps.push(now - last);
    // Further tokens of the same read arrived together.
    for (let extra = 1; extra < found.tokens; extra++) gaps.push(0);
    last = now;
  };
  const status = await postRetrying(port, body, onBody, tally);
  if (status !== 200 || errors > 0) {
    tally.errors++;
    return;
  }
  tally.answerTokens.push(tokens);
  for (const gap of gaps) tally.itlMs.push(gap);
  const end = gaps.slice(Math.floor(gaps.length * 0.9));
  tally.end.ms += sum(end);
  tally.end.tokens += end.length;
}

/** Retries once if the connection closes before any answer; throws on the second failure. */
async function postRetrying(
  port: number,
  body: string,
  onBody: (text: string) => void,
  tally: Tally,
): Promise<number> {
  const path = "/v1/chat/completions";
  try {
    return await postStream(port, path, body, onBody);
  } catch (error) {
    if (!(error instanceof ConnectionLost) || error.answered) throw error;
    tally.resets++;
    return postStream(port, path, body, onBody);
  }
}

function summarize(tally: Tally, warm: Tally, seconds: number, clientCpuSeconds: number): LoadResult {
  const { answerTokens, ttftMs, itlMs } = tally;
  const tokens = sum(answerTokens);
  return {
    seconds,
    errors: tally.errors,
    resets: tally.resets,
    tokens,
    promptTokens: tally.promptTokens,
    promptTokensPerSecond: (tally.promptTokens * 1000) / sum(ttftMs),
    warmupTokens: sum(warm.answerTokens),
    tokensPerSecond: tokens / seconds,
    answerTokensMin: Math.min(...answerTokens),
    answerTokensMax: Math.max(...answerTokens),
    ttftP50Ms: quantile(ttftMs, 0.5),
    ttftP95Ms: quantile(ttftMs, 0.95),
    itlP50Ms: quantile(itlMs, 0.5),
    itlP95Ms: quantile(itlMs, 0.95),
    itlEndMs: tally.end.ms / tally.end.tokens,
    clientCpuSeconds,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((left, right) => left + right, 0);
}

function optionsFrom(argv: readonly string[]): LoadOptions {
  const string = (value: string): { type: "string"; default: string } => ({ type: "string", default: value });
  const { values } = parseArgs({
    args: [...argv],
    options: {
      port: { type: "string" },
      streams: string("8"),
      requests: string("32"),
      max: string("128"),
      words: string("64"),
      "shared-words": string("0"),
      ask: string(""),
      seed: string("1"),
      warmup: string("0"),
      model: string("default"),
      body: string("{}"),
    },
  });
  const count = (name: string, value: string | undefined): number => {
    const parsed = Number(value);
    if (value === undefined || !Number.isInteger(parsed) || parsed < 0)
      throw new Error(`--${name} requires a number`);
    return parsed;
  };
  return {
    port: count("port", values.port),
    streams: count("streams", values.streams),
    requests: count("requests", values.requests),
    maxTokens: count("max", values.max),
    words: count("words", values.words),
    sharedWords: count("shared-words", values["shared-words"]),
    ask: values.ask,
    seed: count("seed", values.seed),
    warmup: count("warmup", values.warmup),
    model: values.model,
    body: JSON.parse(values.body) as Record<string, unknown>,
  };
}

if (import.meta.main) console.log(JSON.stringify(await load(optionsFrom(process.argv.slice(2)))));
