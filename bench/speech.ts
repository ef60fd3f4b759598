// Latency and cost of speech with the built-in voice:  bun bench/speech.ts
// The server is fresh; its first speech, which starts the voice's process, is reported separately.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { machineLine, THREADS } from "./machine.ts";
import { CACHE, SVC } from "./peer.ts";
import { spawnLogged, stopTree, treeCpuSeconds, treeMemory } from "./processes.ts";
import { freePort } from "./servers.ts";
import { median } from "./stats.ts";

const SENTENCE = "The quick brown fox jumps over the lazy dog.";
const TEXT = `${SENTENCE} How early one hears it depends on the first sentence. `.repeat(4);
const PARALLEL = 8;
const REPEATS = 10;
const READY_MS = 30_000;

interface Spoken {
  /** Time to the first and to the last byte of audio, milliseconds. */
  readonly firstMs: number;
  readonly totalMs: number;
  readonly seconds: number;
}

async function speak(port: number, input: string): Promise<Spoken> {
  const start = performance.now();
  const response = await fetch(`http://127.0.0.1:${port}/v1/audio/speech`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input, response_format: "pcm" }),
  });
  if (!response.ok || response.body === null) throw new Error(await response.text());
  const rate = Number(response.headers.get("x-audio-sample-rate"));
  let firstMs = 0;
  let bytes = 0;
  for await (const chunk of response.body) {
    if (bytes === 0) firstMs = performance.now() - start;
    bytes += chunk.byteLength;
  }
  return { firstMs, totalMs: performance.now() - start, seconds: bytes / 2 / rate };
}

async function untilReady(port: number): Promise<void> {
  const deadline = performance.now() + READY_MS;
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/v1/models/status`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"model_id":"default"}',
    }).then(
      async (response) => (await response.text()).includes('"loaded"'),
      () => false,
    );
  while (!(await isReady())) {
    if (performance.now() > deadline) throw new Error("the server did not start in time");
    await Bun.sleep(20);
  }
}

function ms(values: readonly number[]): string {
  return `${median(values).toFixed(0)} (${Math.min(...values).toFixed(0)}..${Math.max(...values).toFixed(0)})`;
}

async function measure(port: number, pid: number): Promise<readonly string[]> {
  const before = treeMemory(pid).pssBytes;
  const first = await speak(port, SENTENCE);
  const voice = treeMemory(pid).pssBytes - before;
  const short: Spoken[] = [];
  for (let repeat = 0; repeat < REPEATS; repeat++) short.push(await speak(port, SENTENCE));
  const cpu = treeCpuSeconds(pid);
  const alone = await speak(port, TEXT);
  const used = treeCpuSeconds(pid) - cpu;
  const start = performance.now();
  const together = await Promise.all(Array.from({ length: PARALLEL }, () => speak(port, TEXT)));
  const wallSecs = (performance.now() - start) / 1000;
  const made = together.reduce((sum, { seconds }) => sum + seconds, 0);
  return [
    "| speech of the built-in voice | |",
    "|---|--:|",
    `| first byte of the first speech, ms (starts the voice's process) | ${first.firstMs.toFixed(0)} |`,
    `| additional memory of the voice, MB | ${(voice / 1e6).toFixed(0)} |`,
    `| first byte, one sentence, ms: median (min..max) | ${ms(short.map(({ firstMs }) => firstMs))} |`,
    `| first byte, eight sentences, ms | ${alone.firstMs.toFixed(0)} of ${alone.totalMs.toFixed(0)} |`,
    `| seconds of speech per second of CPU time | ${(alone.seconds / used).toFixed(0)} |`,
    `| ${PARALLEL} concurrent: first bytes, ms | ${ms(together.map(({ firstMs }) => firstMs))} |`,
    `| ${PARALLEL} concurrent: seconds of speech per second | ${(made / wallSecs).toFixed(0)} |`,
  ];
}

const cache = mkdtempSync(join(tmpdir(), "svc-bench-"));
const port = freePort();
const command = [SVC, "serve", "--host", "127.0.0.1", "--port", String(port), "--disable-access-log"];
const child = spawnLogged(command, join(CACHE, "logs", "speech.log"), { XDG_CACHE_HOME: cache });
try {
  await untilReady(port);
  const machine = await machineLine(undefined, THREADS);
  console.log([machine, "", ...(await measure(port, child.pid))].join("\n"));
} finally {
  await stopTree(child);
  rmSync(cache, { recursive: true, force: true });
}
