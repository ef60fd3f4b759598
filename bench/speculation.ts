// Gain of speculative decoding for answers that copy from the prompt, and its cost for others: two servers with the same
// model, one with `speculative = "ngram"` (or `mtp_model` if a file is given), in alternation. Times are of generation only, as
// reported by the servers. The model that copies is constructed (copier.ts). Requests are repeated, so finished prefixes are not
// kept, unless `--again` asks for the gain of answers that are given again.
//
//   bun bench/speculation.ts [--pairs 5] [--model FILE] [--draft FILE] [--again]

import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ensureModel } from "./model.ts";
import { CACHE, ensurePeer, SVC } from "./peer.ts";
import { killRunning, spawnLogged, stopTree } from "./processes.ts";
import { freePort } from "./servers.ts";
import { COMMON_TASKS, type Task, TASKS } from "./speculation-tasks.ts";
import { median, pairRatio } from "./stats.ts";

const READY_MS_MAX = 60_000;
/** Delay until the counters include the last answer. */
const STATS_MS = 500;
const MODES = ["off", "speculative"] as const;
type Mode = (typeof MODES)[number];

const { values } = parseArgs({
  options: {
    pairs: { type: "string", default: "5" },
    model: { type: "string" },
    draft: { type: "string" },
    again: { type: "boolean", default: false },
  },
});

const { draft } = values;
const SPECULATION = draft === undefined ? ["--speculative", "ngram"] : ["--mtp-model", resolve(draft)];

interface Server {
  readonly port: number;
  stop(): Promise<void>;
}

interface Answer {
  readonly text: string;
  readonly tokensPerSecond: number;
}

async function start(mode: Mode, modelPath: string | undefined): Promise<Server> {
  const port = freePort();
  const model = modelPath === undefined ? [] : ["--model", modelPath];
  const command = [
    SVC,
    "serve",
    ...model,
    "--host",
    "127.0.0.1",
    "--port",
    String(port),
    ...(values.again ? [] : ["--prefix-cache-n", "0"]),
    ...(mode === "off" ? ["--speculative", "off"] : SPECULATION),
  ];
  const child = spawnLogged(command, join(CACHE, "logs", "speculation.log"), {
    XDG_CACHE_HOME: join(CACHE, "xdg"),
  });
  const deadline = performance.now() + READY_MS_MAX;
  for (;;) {
    const answered = await ask(port, { prompt: "ready?", max_tokens: 1 }).catch(() => undefined);
    if (answered !== undefined) return { port, stop: () => stopTree(child) };
    if (performance.now() > deadline || child.exitCode !== null)
      throw new Error("svc does not answer; see its log");
    await Bun.sleep(20);
  }
}

async function ask(port: number, body: Task["body"]): Promise<Answer> {
  const path = "messages" in body ? "chat/completions" : "completions";
  const response = await fetch(`http://127.0.0.1:${port}/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...body, enable_thinking: false }),
  });
  if (!response.ok) throw new Error(await response.text());
  const { choices, usage } = (await response.json()) as {
    choices: { text?: string; message?: { content: string } }[];
    usage: { completion_tokens: number; total_completion_time_sec: number };
  };
  return {
    text: choices[0]?.text ?? choices[0]?.message?.content ?? "",
    tokensPerSecond: usage.completion_tokens / usage.total_completion_time_sec,
  };
}

async function speedOf({ name, body, answer, times = 1 }: Task, port: number): Promise<number> {
  const speeds: number[] = [];
  while (speeds.length < times) {
    const { text, tokensPerSecond } = await ask(port, body);
    if (answer !== undefined && text !== answer) throw new Error(`${name}: unexpected answer:\n${text}`);
    speeds.push(tokensPerSecond);
  }
  return median(speeds);
}

/** Draft tokens of a server so far, and those accepted. */
async function draftCounters(port: number): Promise<{ tokens: number; hits: number }> {
  await Bun.sleep(STATS_MS);
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const count = (name: string): number =>
    Number(new RegExp(`^svc_draft_${name}_total(?:\\{.*\\})? (\\S+)$`, "m").exec(text)?.[1] ?? 0);
  return { tokens: count("tokens"), hits: count("hits") };
}

/** A row of the table. */
async function measure(name: string, task: Task, servers: Record<Mode, Server>): Promise<string> {
  const speeds: Record<Mode, number[]> = { off: [], speculative: [] };
  const before = await draftCounters(servers.speculative.port);
  for (let pair = 0; pair < 1 + Number(values.pairs); pair++) {
    for (const mode of MODES) {
      const speed = await speedOf(task, servers[mode].port);
      if (pair > 0) speeds[mode].push(speed); // the first one warms up
    }
  }
  const after = await draftCounters(servers.speculative.port);
  const { median: middle, min, max } = pairRatio(speeds.speculative, speeds.off);
  const ratio = `${middle.toFixed(2)} (${min.toFixed(2)}..${max.toFixed(2)})`;
  const speed = MODES.map((mode) => median(speeds[mode]).toFixed(0));
  const right = `${after.hits - before.hits} of ${after.tokens - before.tokens}`;
  return `| ${[name, task.name, ...speed, ratio, right].join(" | ")} |`;
}

async function measureModel(name: string, path: string | undefined, tasks: readonly Task[]): Promise<void> {
  const servers = { off: await start("off", path), speculative: await start("speculative", path) };
  for (const task of tasks) console.log(await measure(name, task, servers));
  await Promise.all([servers.off.stop(), servers.speculative.stop()]);
}

async function main(): Promise<void> {
  console.log("| model | the answer | off tok/s | speculative tok/s | ratio of pairs | drafts accepted |");
  console.log("|---|---|--:|--:|--:|--:|");
  if (values.model !== undefined) return measureModel("FILE", resolve(values.model), COMMON_TASKS);
  const peer = await ensurePeer();
  for (const { model, tasks } of TASKS) {
    const name = model === "copier" ? "copier (0.6B shape, constructed to copy)" : model;
    await measureModel(name, model === "builtin" ? undefined : await ensureModel(model, peer), tasks);
  }
}

try {
  await main();
} finally {
  killRunning();
}
