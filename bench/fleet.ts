// A svc in front of others: what the hop costs a request and a token, and how many prompt tokens the routing policies let
// engines reuse.
//
//   bun bench/fleet.ts [--part hop|policies] [--svc ./svc] [--streams 100] [--tokens 128] [--pairs 5] [--users 64] [--turns 4]
//
// The hop is measured in interleaved pairs: the same requests to the engine's server and through the front. Its cost a token is
// the front's processor time. The policies answer the same conversations: groups of users share a system prompt, each user goes on
// with a conversation of his own; what engines reused is read from their metrics.

import { join } from "node:path";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { postStream } from "./http-stream.ts";
import { killRunning, spawnLogged, stopTree, treeCpuSeconds } from "./processes.ts";
import { uniformSource } from "./random.ts";
import { freePort } from "./servers.ts";
import { median, pairRatio } from "./stats.ts";

const { values } = parseArgs({
  options: {
    svc: { type: "string", default: "./svc" },
    streams: { type: "string", default: "100" },
    tokens: { type: "string", default: "128" },
    pairs: { type: "string", default: "5" },
    users: { type: "string", default: "64" },
    turns: { type: "string", default: "4" },
    part: { type: "string", default: "all" },
  },
});
const streams = Number(values.streams);
const tokens = Number(values.tokens);
const pairs = Number(values.pairs);
const users = Number(values.users);
const turns = Number(values.turns);
const folder = mkdtempSync(join(tmpdir(), "svc-fleet-"));

interface Served {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts a svc and waits until its model is loaded. */
async function serve(name: string, args: readonly string[]): Promise<Served> {
  const port = freePort();
  const command = [
    join(process.cwd(), values.svc),
    "serve",
    "--host",
    "127.0.0.1",
    "--port",
    String(port),
    ...args,
  ];
  const env = { SVC_THREADS: "1", SVC_DISABLE_ACCESS_LOG: "true" };
  const child = spawnLogged(command, join(folder, `${name}.log`), env);
  for (;;) {
    const isReady = await fetch(`http://127.0.0.1:${port}/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return { port, pid: child.pid, stop: () => stopTree(child) };
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}; see ${folder}`);
    await Bun.sleep(50);
  }
}

/** A front before engines. */
async function front(policy: string, engines: readonly Served[]): Promise<Served> {
  const file = join(folder, `${policy}.toml`);
  const upstreams = engines.map(({ port }) => `[[models.upstreams]]\nurl = "http://127.0.0.1:${port}/v1"\n`);
  const routing = `[models.routing]\npolicy = "${policy}"\n`;
  await Bun.write(
    file,
    `[[models]]\nmodel_id = "svc-tiny"\nkind = "upstream"\n${routing}${upstreams.join("")}`,
  );
  return serve(policy, [file]);
}

function chat(messages: readonly object[], maxTokens: number): string {
  return JSON.stringify({
    messages,
    max_tokens: maxTokens,
    stream: true,
    temperature: 0,
    enable_thinking: false,
  });
}

/** Sends a request and returns the milliseconds to its end, the events and the text. */
async function ask(port: number, body: string) {
  const startMs = performance.now();
  let stream = "";
  const status = await postStream(port, "/v1/chat/completions", body, (text) => void (stream += text));
  if (status !== 200) throw new Error(`status ${status}: ${stream.slice(0, 300)}`);
  const chunks = stream
    .split("\n\n")
    .flatMap((event) => (event.startsWith("data: {") ? [JSON.parse(event.slice(6))] : []));
  const text: string = chunks.map((chunk) => chunk.choices?.[0]?.delta?.content ?? "").join("");
  const usage = chunks.findLast((chunk) => chunk.usage)?.usage;
  return { ms: performance.now() - startMs, text, count: Number(usage?.completion_tokens ?? 0) };
}

const ENDLESS = [{ role: "user", content: "Count from 1 to 200." }];

/** Latency added to a request of one token, milliseconds. */
async function requestCost(direct: Served, through: Served): Promise<string> {
  const times: [number[], number[]] = [[], []];
  const body = chat([{ role: "user", content: "Hi" }], 1);
  for (let i = 0; i < 200; i++) {
    for (const [side, { port }] of [direct, through].entries()) {
      const { ms } = await ask(port, body);
      if (i >= 20) times[side]?.push(ms);
    }
  }
  const [own, hop] = times.map(median);
  return `a request of one token: ${own?.toFixed(2)} ms direct, ${hop?.toFixed(2)} ms through the hop, +${((hop ?? 0) - (own ?? 0)).toFixed(2)} ms`;
}

/** Processor time of a load of streams: of the engine's server and engine, and of the front. */
async function load(target: Served, engine: Served, hop?: Served) {
  const before = [engine, hop].map((one) => (one === undefined ? 0 : treeCpuSeconds(one.pid)));
  const startMs = performance.now();
  const answers = await Promise.all(
    Array.from({ length: streams }, () => ask(target.port, chat(ENDLESS, tokens))),
  );
  const secs = (performance.now() - startMs) / 1000;
  const [ofEngine = 0, ofHop = 0] = [engine, hop].map(
    (one, i) => (one === undefined ? 0 : treeCpuSeconds(one.pid)) - (before[i] ?? 0),
  );
  const count = answers.reduce((sum, answer) => sum + answer.count, 0);
  return { rate: count / secs, engine: (ofEngine / count) * 1e6, hop: (ofHop / count) * 1e6 };
}

async function overhead(): Promise<void> {
  const engine = await serve("engine", ["--max-seqs", String(streams)]);
  const hop = await front("least_busy", [engine]);
  console.log(await requestCost(engine, hop));
  const rates: [number[], number[]] = [[], []];
  const costs: [number[], number[]] = [[], []];
  await load(hop, engine, hop); // both are warm now
  for (let pair = 0; pair < pairs; pair++) {
    const own = await load(engine, engine);
    const two = await load(hop, engine, hop);
    rates[0].push(own.rate);
    rates[1].push(two.rate);
    costs[0].push(own.engine);
    costs[1].push(two.hop);
  }
  const { median: ratio, min, max } = pairRatio(rates[1], rates[0]);
  console.log(
    `${streams} streams of ${tokens} tokens: ${median(rates[0]).toFixed(0)} tokens/s direct, ${median(rates[1]).toFixed(0)} through the hop (ratio ${ratio.toFixed(2)}, ${min.toFixed(2)} to ${max.toFixed(2)}); ` +
      `processor time a token: ${median(costs[0]).toFixed(1)} us direct (server and engine), ${median(costs[1]).toFixed(1)} us of the front`,
  );
  await hop.stop();
  await engine.stop();
}

/** Prompt tokens that engines reused and computed, from their metrics. */
async function reuse(engines: readonly Served[]): Promise<readonly [number, number]> {
  const read = async (port: number, name: string): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? 0);
  };
  const sum = async (name: string) =>
    (await Promise.all(engines.map(({ port }) => read(port, name)))).reduce((a, b) => a + b, 0);
  return [await sum("svc_prefix_cache_tokens_total"), await sum("svc_prefill_tokens_total")];
}

async function policies(): Promise<void> {
  const groups = 8;
  for (const policy of ["round_robin", "prefix"]) {
    const engines = await Promise.all([1, 2].map((number) => serve(`engine-${policy}-${number}`, [])));
    const hop = await front(policy, engines);
    const talks = Array.from({ length: users }, (_, user) => [
      {
        role: "system",
        content: `Group ${user % groups}. ${"You answer questions about trains and rivers. ".repeat(30)}`,
      },
      {
        role: "user",
        content: `I am user ${user}. ${`My own notes, page ${user}. `.repeat(25)} What is the capital of France?`,
      },
    ]);
    const random = uniformSource(7);
    for (let turn = 0; turn < turns; turn++) {
      // Users do not take turns: in a fixed order round robin would send each to the same engine by chance.
      const order = talks.map((_, user) => ({ user, at: random() })).sort((a, b) => a.at - b.at);
      await Promise.all(
        order.map(async ({ user }) => {
          const talk = talks[user] ?? [];
          const { text } = await ask(hop.port, chat(talk, 16));
          talk.push(
            { role: "assistant", content: text },
            { role: "user", content: `And of Spain, for user ${user}?` },
          );
        }),
      );
    }
    const [found, computed] = await reuse(engines);
    const share = ((100 * found) / (found + computed)).toFixed(1);
    console.log(
      `${policy}: ${users} users in ${groups} groups, ${turns} turns, two engines: ${found} prompt tokens reused, ${computed} computed (${share} % reused)`,
    );
    await hop.stop();
    await Promise.all(engines.map((engine) => engine.stop()));
  }
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    killRunning();
    process.exit(130);
  });
}
try {
  if (values.part !== "policies") await overhead();
  if (values.part !== "hop") await policies();
} finally {
  killRunning();
  rmSync(folder, { recursive: true, force: true });
}
