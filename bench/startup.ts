// Time from the start of `./svc serve` to the first 200 of /health, and to the first token of the built-in model. Cold: empty
// cache directory, so the libraries are unpacked first; warm: the directory of a previous run. The executable is in the page
// cache in both cases.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../test/helpers/free-port.ts";
import { postStream } from "./http-stream.ts";
import { CACHE, SVC } from "./peer.ts";
import { spawnLogged, stopTree } from "./processes.ts";
import { SseScanner } from "./sse-scan.ts";
import { median } from "./stats.ts";

const HEALTHY_MS_MAX = 20_000;

interface Start {
  readonly healthMs: number;
  readonly firstTokenMs: number;
}

/** Markdown table of start-up times, medians of `repeats` starts each. */
export async function startupTable(repeats: number): Promise<string> {
  const warmCache = mkdtempSync(join(tmpdir(), "svc-bench-"));
  const cold: Start[] = [];
  const warm: Start[] = [];
  try {
    await measureStart(warmCache); // fills it
    for (let repeat = 0; repeat < repeats; repeat++) {
      cold.push(await withFreshCache(measureStart));
      warm.push(await measureStart(warmCache));
    }
  } finally {
    rmSync(warmCache, { recursive: true, force: true });
  }
  const row = (name: string, starts: readonly Start[]): string =>
    `| ${name} | ${spread(starts.map((start) => start.healthMs))} | ${spread(starts.map((start) => start.firstTokenMs))} |`;
  return [
    "| start of `./svc serve`, ms: median (min..max) | to 200 from /health | to first token |",
    "|---|--:|--:|",
    row("empty cache directory", cold),
    row("filled cache directory", warm),
  ].join("\n");
}

async function withFreshCache(measure: (cache: string) => Promise<Start>): Promise<Start> {
  const cache = mkdtempSync(join(tmpdir(), "svc-bench-"));
  try {
    return await measure(cache);
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
}

async function measureStart(cache: string): Promise<Start> {
  const port = freePort();
  const command = [SVC, "serve", "--host", "127.0.0.1", "--port", String(port)];
  const start = performance.now();
  const child = spawnLogged(command, join(CACHE, "logs", "startup.log"), { XDG_CACHE_HOME: cache });
  try {
    while (!(await healthy(port))) {
      if (child.exitCode !== null) throw new Error(`svc exited with code ${child.exitCode}`);
      if (performance.now() - start > HEALTHY_MS_MAX)
        throw new Error(`/health did not return 200 within ${HEALTHY_MS_MAX} ms`);
      await Bun.sleep(2);
    }
    const healthMs = performance.now() - start;
    return { healthMs, firstTokenMs: (await firstToken(port)) - start };
  } finally {
    await stopTree(child);
  }
}

async function healthy(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health`)).status === 200;
  } catch {
    return false; // not listening yet
  }
}

/** Arrival time (performance.now) of the first text of an answer. */
async function firstToken(port: number): Promise<number> {
  const scanner = new SseScanner();
  let at = 0;
  const messages = [{ role: "user", content: "Hello!" }];
  const body = JSON.stringify({ model: "default", messages, max_tokens: 4, temperature: 0, stream: true });
  const status = await postStream(port, "/v1/chat/completions", body, (text) => {
    if (scanner.push(text).tokens > 0 && at === 0) at = performance.now();
  });
  if (status !== 200 || at === 0) throw new Error(`the built-in model gave no text (status ${status})`);
  return at;
}

function spread(values: readonly number[]): string {
  return `${Math.round(median(values))} (${Math.round(Math.min(...values))}..${Math.round(Math.max(...values))})`;
}
