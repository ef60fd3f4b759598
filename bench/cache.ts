// Prompts that left the KV cache:  bun bench/cache.ts [--model qwen3-0.6b] [--tokens 10800] [--sessions 200] [--only restart,none] [--threads N]
// 1. TTFT of a conversation's next turn: in a running server, and after `kill -9` and a restart with the cache on disk.
// 2. TTFT of sessions that take turns in a cache that holds few of them: with and without the memory tier, and llama-server
//    with its `--cache-ram`. All servers run at once and get each request in turn, so that other load delays all of them.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { postStream } from "./http-stream.ts";
import { THREADS } from "./machine.ts";
import { namedModel } from "./model.ts";
import type { Peer } from "./peer.ts";
import { killRunning } from "./processes.ts";
import { uniformSource } from "./random.ts";
import { type RunningServer, type Side, startServer } from "./servers.ts";
import { median, quantile } from "./stats.ts";

/** Tokens of a word of random letters, about. */
const WORD_TOKENS = 2.7;
/** Tokens of each session's first prompt, about. */
const SESSION_TOKENS = 300;
/** Sessions that the KV cache holds. */
const HELD_SESSIONS = 16;
const TURNS = 3;
/** Seconds in which a started server has restored the prefixes used last. */
const RECALL_SECS = 4;
/** Seconds without a write after which all is written. */
const STILL_SECS = 8;

interface Message {
  readonly role: "user" | "assistant";
  readonly content: string;
}

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "qwen3-0.6b" },
    tokens: { type: "string", default: "10800" },
    sessions: { type: "string", default: "200" },
    threads: { type: "string", default: String(THREADS) },
    only: { type: "string", default: "restart,memory,none,llama-server" },
  },
});
const parts = values.only.split(",");
const threads = Number(values.threads);

function words(seed: number, tokens: number): string {
  const random = uniformSource(seed);
  const count = Math.round(tokens / WORD_TOKENS);
  return Array.from({ length: count }, () => Math.floor(random() * 1e4).toString(36)).join(" ");
}

/** Milliseconds to the first text of an answer. */
async function ttft(server: RunningServer, messages: readonly Message[]): Promise<number> {
  const json = JSON.stringify({
    model: "default",
    messages,
    max_tokens: 4,
    temperature: 0,
    stream: true,
  });
  const sent = performance.now();
  let first = 0;
  const status = await postStream(server.port, "/v1/chat/completions", json, (piece) => {
    if (first === 0 && /"(?:content|reasoning_content)":"[^"]/.test(piece)) first = performance.now();
  });
  if (status !== 200) throw new Error(`an answer with status ${status}`);
  return (first === 0 ? performance.now() : first) - sent;
}

/** The same conversation with one more turn. */
function continued(messages: readonly Message[], seed: number): readonly Message[] {
  return [...messages, { role: "assistant", content: "Yes." }, { role: "user", content: words(seed, 20) }];
}

/** Waits until nothing has been written to disk for some seconds; returns the bytes written. */
async function written(server: RunningServer): Promise<number> {
  let last = -1;
  for (let still = 0; ;) {
    const text = await (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text();
    const bytes = Number(/^svc_cache_disk_written_bytes_total (\d+)/m.exec(text)?.[1] ?? 0);
    still = bytes === last ? still + 1 : 0;
    if (still === STILL_SECS) return bytes;
    last = bytes;
    await Bun.sleep(1000);
  }
}

async function restart(modelPath: string, peer: Peer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-cache-"));
  const tokens = Number(values.tokens);
  const flags = ["--cache-disk", join(folder, "kv"), "--cache-ram", "6144"];
  const options = { modelPath, threads, sequences: 4, cells: tokens * 2, flags };
  let conversation: readonly Message[] = [{ role: "user", content: words(1, tokens) }];
  const cold: number[] = [];
  const warm: number[] = [];
  const atOnce: number[] = [];
  const later: number[] = [];
  let bytes = 0;
  let turns = 0;
  let server = await startServer("svc", options, peer);
  const turn = async (): Promise<number> => {
    conversation = continued(conversation, 10 + turns++);
    return ttft(server, conversation);
  };
  cold.push(await ttft(server, conversation));
  for (let round = 0; round < TURNS; round++) {
    warm.push(await turn());
    for (const [secs, times] of [[0, atOnce] as const, [RECALL_SECS, later] as const]) {
      bytes += await written(server);
      await server.kill();
      server = await startServer("svc", options, peer);
      await Bun.sleep(1000 * secs);
      times.push(await turn());
    }
    await written(server);
  }
  await server.stop();
  rmSync(folder, { recursive: true });
  const ms = (all: readonly number[]): string => all.map((value) => value.toFixed(0)).join(", ");
  const ratio = (all: readonly number[]): string => (median(all) / median(warm)).toFixed(2);
  console.log(`| TTFT, ms (${tokens} tokens, ${(bytes / 1e6).toFixed(0)} MB written) | | ratio of medians |`);
  console.log("| --- | --: | --: |");
  console.log(`| first turn | ${ms(cold)} | |`);
  console.log(`| next turns, server running | ${ms(warm)} | |`);
  console.log(`| next turns, after kill -9 and restart | ${ms(atOnce)} | ${ratio(atOnce)} |`);
  console.log(`| the same, ${RECALL_SECS} seconds later | ${ms(later)} | ${ratio(later)} |\n`);
}

/** A server of the second part. */
interface Contender {
  readonly part: string;
  readonly name: string;
  readonly side: Side;
  readonly flags: readonly string[];
}

const CONTENDERS: readonly Contender[] = [
  { part: "memory", name: "svc, memory tier", side: "svc", flags: ["--cache-ram", "8192"] },
  { part: "none", name: "svc without it", side: "svc", flags: ["--cache-ram", "0"] },
  {
    part: "llama-server",
    name: "llama-server --cache-ram 8192",
    side: "llama-server",
    flags: ["--cache-ram", "8192"],
  },
];

/** TTFT of each session's second turn, after all had their first, on each server. */
async function roundRobin(contenders: readonly Contender[], modelPath: string, peer: Peer): Promise<void> {
  const cells = (HELD_SESSIONS * SESSION_TOKENS * 4) / 3;
  const count = Number(values.sessions);
  const running: { readonly name: string; readonly server: RunningServer; readonly times: number[] }[] = [];
  for (const { name, side, flags } of contenders) {
    const server = await startServer(side, { modelPath, threads, sequences: 4, cells, flags }, peer);
    running.push({ name, server, times: [] });
  }
  const sessions = Array.from({ length: count }, (_, i): readonly Message[] => [
    { role: "user", content: words(1000 + i, SESSION_TOKENS) },
  ]);
  for (const session of sessions) for (const { server } of running) await ttft(server, session);
  for (const [i, session] of sessions.entries())
    for (const { server, times } of running) times.push(await ttft(server, continued(session, 5000 + i)));
  for (const { name, server, times } of running) {
    await server.stop();
    console.log(`| ${name} | ${median(times).toFixed(0)} | ${quantile(times, 0.95).toFixed(0)} |`);
  }
}

async function main(): Promise<void> {
  process.on("exit", killRunning);
  const { modelPath, peer } = await namedModel(values.model, threads);
  if (parts.includes("restart")) await restart(modelPath, peer);
  console.log(`| ${values.sessions} sessions in turn, TTFT of the second turn, ms | p50 | p95 |`);
  console.log("| --- | --: | --: |");
  await roundRobin(
    CONTENDERS.filter(({ part }) => parts.includes(part)),
    modelPath,
    peer,
  );
}

await main();
