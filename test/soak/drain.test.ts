// Servers of every kind of memory that are told to stop in the middle of their answers, on a machine without free processors:
// each answer ends once, as a whole or with the error that says why, no engine hangs, and the process ends in time. Slow:
// SVC_SLOW_TESTS=1; `SVC_DRAINS=120` says how many times, SVC_DRAIN_MODEL names one model file more.

import { expect, test } from "bun:test";
import { architectureModel } from "../helpers/architecture-models.ts";
import { launchServer, type Server, TINY_FILE } from "../helpers/binary.ts";
import { randomOf, seedOfRun } from "../helpers/seed.ts";
import { parseSse } from "../helpers/sse.ts";
import { within } from "../helpers/until.ts";

const isSlow = process.env["SVC_SLOW_TESTS"] === "1";
const DRAINS = Number(process.env["SVC_DRAINS"] ?? "40");
if (!isSlow) console.warn("SKIPPED: servers that stop in the middle of answers: SVC_SLOW_TESTS=1");

/** Kinds of memory: all cells, a moving window, states, both. */
const ARCHITECTURES = ["gemma3", "mamba2", "qwen35", "gpt-oss"];
/** At once, beside loops that only compute: no processor is free. */
const SERVERS = 3;
const LOOPS = 2;
const STREAMS = 3;
const TOKENS = 100;
/** Longest time from SIGTERM to the signal, to an engine's death by the watchdog and to the end of all, milliseconds. */
const WAIT_MS = 1500;
const LIMIT_MS = 120_000;
const ENV = { SVC_HANG_TIMEOUT: "8", SVC_THREADS: "2" };
/** Times that it gives open requests, seconds: some answers end before it, some are cut. */
const DRAIN_SECS = [1, 4, 30];

interface Outcome {
  readonly kind: string;
  /** How each answer ended: `length`, `stop` or the code of its error. */
  readonly endings: readonly string[];
  readonly exit: number;
  readonly stderr: string;
  readonly secs: number;
}

interface Ending {
  readonly error?: { readonly code: string };
  readonly choices?: readonly { readonly finish_reason?: string | null }[];
}

/** Why an answer ended; throws unless it did so once. */
function endingOf(stream: string): string {
  const events = parseSse(stream)
    .events.filter(({ data }) => data !== "[DONE]")
    .map(({ data }) => JSON.parse(data) as Ending);
  const endings = events.flatMap(({ error, choices }) => error?.code ?? choices?.[0]?.finish_reason ?? []);
  if (endings.length !== 1) throw new Error(`it ended ${endings.length} times: ${stream.slice(-400)}`);
  return endings[0] ?? "";
}

/** How an answer ends; a connection that breaks is an ending, too. */
function answer(server: Server, prompt: string): Promise<string> {
  return ask(server, prompt).catch((error: unknown) => `broken: ${String(error)}`);
}

async function ask({ url }: Server, prompt: string): Promise<string> {
  const body = { prompt, max_tokens: TOKENS, stream: true, ignore_eos: true };
  const init = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  const response = await fetch(`${url}/v1/completions`, init);
  const text = await response.text();
  return response.ok ? endingOf(text) : (JSON.parse(text) as { error: { code: string } }).error.code;
}

/** One server from its start to its end. */
async function drainOnce(kind: string, model: string, random: () => number): Promise<Outcome> {
  const drainSecs = DRAIN_SECS[Math.floor(random() * DRAIN_SECS.length)];
  const env = { ...ENV, SVC_DRAIN_TIMEOUT: String(drainSecs) };
  const server = await launchServer(["-m", model, "--max-seqs", "4", "--max-seq-len", "1024"], { env });
  try {
    const words = Array.from({ length: Math.floor(random() * 150) }, () => "one two");
    const answers = Array.from({ length: STREAMS }, (_, at) => answer(server, `${at} ${words.join(" ")}`));
    await Bun.sleep(random() * WAIT_MS);
    const began = performance.now();
    server.kill("SIGTERM");
    const probes = Array.from({ length: 20 }, async () => {
      await Bun.sleep(random() * WAIT_MS);
      await fetch(`${server.url}/ready`).catch(() => undefined); // it may have ended
    });
    const endings = await within(LIMIT_MS, `${kind}: all answers end`, Promise.all(answers));
    const exit = await within(LIMIT_MS, `${kind}: the server ends`, server.exited);
    await Promise.all(probes);
    return { kind, endings, exit, stderr: server.stderr(), secs: (performance.now() - began) / 1000 };
  } finally {
    await server.stop();
  }
}

test.if(isSlow)(
  "every answer of a server that is told to stop ends once",
  async () => {
    const random = randomOf(seedOfRun());
    const own = process.env["SVC_DRAIN_MODEL"];
    const models = [
      ["built-in", TINY_FILE] as const,
      ...ARCHITECTURES.map((name) => [name, architectureModel(name)] as const),
      ...(own === undefined ? [] : [[own, own] as const]),
    ];
    const loops = Array.from({ length: LOOPS }, () => Bun.spawn(["sh", "-c", "while :; do :; done"]));
    const outcomes: Outcome[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      for (let at = next++; at < DRAINS; at = next++) {
        const [kind, model] = models[at % models.length] ?? ["built-in", TINY_FILE];
        outcomes.push(await drainOnce(kind, model, random));
      }
    };
    try {
      await Promise.all(Array.from({ length: SERVERS }, work));
    } finally {
      for (const loop of loops) loop.kill("SIGKILL");
    }
    const counts = Object.groupBy(
      outcomes.flatMap(({ kind, endings }) => endings.map((ending) => `${kind}: ${ending}`)),
      (line) => line,
    );
    for (const [line, { length = 0 } = []] of Object.entries(counts)) console.log(`${line} × ${length}`);
    console.log(`longest: ${Math.max(...outcomes.map(({ secs }) => secs)).toFixed(1)} s`);
    expect(outcomes.filter(({ stderr }) => /hang|killing/.test(stderr))).toEqual([]);
    const right = /^(?:length|stop|shutting_down)$/;
    expect(
      outcomes.filter(({ exit, endings }) => exit !== 0 || !endings.every((one) => right.test(one))),
    ).toEqual([]);
  },
  DRAINS * LIMIT_MS,
);
