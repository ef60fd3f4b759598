// A coding agent's typical traffic, replayed in each dialect against ./svc: a long system prompt, tools, and turns that
// each add a call with its result. Measures whether a turn computes only new tokens: cached tokens as reported by the server,
// and TTFT of the last turn relative to the second. With --peer, llama-server replays each dialect that it supports, in
// alternation.
//
//   bun bench/agent-traffic.ts [--model FILE or NAME] [--template FILE] [--turns 30] [--tools 20] [--repeats 3] [--only chat] [--peer]
//   bun bench/agent-traffic.ts --model nano --mcp 300 --context 163840 --turns 20 --repeats 1 --only chat --peer
//
// --mcp: tools of the MCP catalogue, a call in each turn to another of them; svc as it is (a quarter of the context for tools), with
// 4,000 tokens of tools, and with all of them in the prompt.
// "computed" are prompt tokens that did not come from a cache.
// Default model: the built-in one. It and models of bench/model.ts get the context, however short theirs is: answers do not matter.
// A model with random weights needs a chat template that knows tools: demo-model/template.jinja. `windows` and `hybrid` of
// bench/model.ts have it.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../test/helpers/free-port.ts";
import { DIALECTS, type Dialect, type Event, makeTraffic } from "./agent-dialects.ts";
import { postStream } from "./http-stream.ts";
import { THREADS } from "./machine.ts";
import { catalogTools } from "./mcp-catalog.ts";
import { ensureModel, MODELS } from "./model.ts";
import { CACHE, ensurePeer, ROOT, SVC } from "./peer.ts";
import { killRunning, spawnLogged, stopTree, treeCpuSeconds } from "./processes.ts";
import { type Side, untilAnswering } from "./servers.ts";
import { median } from "./stats.ts";

/** What is measured: a side, and settings of svc. */
interface Way {
  readonly name: string;
  readonly side: Side;
  readonly flags: readonly string[];
}

interface Answer {
  readonly status: number;
  readonly firstMs: number;
  readonly totalMs: number;
  readonly prompt: number;
  readonly cached: number;
  readonly id: string | undefined;
}

interface Measured extends Answer {
  /** CPU time of the server; independent of other load on the machine. */
  readonly cpuMs: number;
}

/** Sends one request and reads its stream. */
async function ask(port: number, dialect: Dialect, body: object): Promise<Answer> {
  let rest = "";
  let firstMs: number | undefined;
  const events: Event[] = [];
  const json = JSON.stringify({ model: "default", temperature: 0, stream: true, ...body });
  const start = performance.now();
  const status = await postStream(port, dialect.path, json, (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      const event: Event = JSON.parse(line.slice("data: ".length));
      events.push(event);
      if (firstMs === undefined && dialect.isPiece(event)) firstMs = performance.now() - start;
    }
  });
  const totalMs = performance.now() - start;
  const all = JSON.stringify(events);
  const [prompt, cached] = dialect.usage.map((key) => Math.max(0, ...numbersOf(all, key)));
  return {
    status,
    firstMs: firstMs ?? totalMs, // no piece: end of the answer
    totalMs,
    prompt: prompt ?? 0,
    cached: cached ?? 0,
    id: /"id":"(resp_[0-9A-Za-z]+)"/.exec(all)?.[1],
  };
}

function numbersOf(json: string, key: string): readonly number[] {
  return [...json.matchAll(new RegExp(`"${key}":(\\d+)`, "g"))].map(([, digits]) => Number(digits));
}

function commandOf({ side, flags }: Way, port: number): readonly string[] {
  const place = ["--host", "127.0.0.1", "--port", String(port), "--threads", String(THREADS)];
  const { context } = values;
  if (side === "svc") {
    const size = ["--max-seqs", "1", "--max-seq-len", context, "--pa-context-len", context];
    const look = template === undefined ? [] : ["--chat-template", template];
    return [SVC, "serve", "-m", model, ...look, ...place, ...size, ...flags];
  }
  if (peer === undefined) throw new Error("llama-server was not built; see the output above");
  const look = template === undefined ? [] : ["--chat-template-file", template];
  return [peer.server, "-m", model, "--jinja", ...look, ...place, "-np", "1", "-c", context, "--no-ui"];
}

/** All turns on a fresh server; undefined if it does not support the dialect. */
async function replay(dialect: Dialect, way: Way): Promise<readonly Measured[] | undefined> {
  const port = freePort();
  const child = spawnLogged([...commandOf(way, port)], join(CACHE, "logs", "agent-traffic.log"), {
    XDG_CACHE_HOME: join(CACHE, "xdg"),
  });
  try {
    await untilAnswering(child, port);
    const answers: Measured[] = [];
    for (let turns = 0; turns < traffic.turns.length; turns++) {
      const before = treeCpuSeconds(child.pid);
      const answer = await ask(port, dialect, dialect.body(traffic, turns, answers.at(-1)?.id));
      if (answer.status === 404 && turns === 0) return undefined;
      if (answer.status !== 200)
        throw new Error(`${dialect.name}: status ${answer.status} at turn ${turns + 1}`);
      answers.push({ ...answer, cpuMs: (treeCpuSeconds(child.pid) - before) * 1000 });
      console.error(
        `bench: ${way.name}, ${dialect.name}, turn ${turns + 1}: ${answer.firstMs.toFixed(0)} ms`,
      );
    }
    return answers;
  } finally {
    await stopTree(child);
  }
}

/** A model under the context that was asked for, as a file. */
function longModel(file: string): string {
  const bytes = readFileSync(file);
  const key = ".context_length";
  const at = bytes.indexOf(key) + key.length + 4; // after the value's type
  if (bytes.readUInt32LE(at) >= Number(values.context)) return file;
  bytes.writeUInt32LE(Number(values.context), at);
  mkdirSync(CACHE, { recursive: true });
  const path = join(CACHE, "agent-traffic.gguf");
  writeFileSync(path, bytes);
  return path;
}

async function modelFile(): Promise<string> {
  if (named !== undefined && peer !== undefined) return longModel(await ensureModel(named, peer));
  return values.model === undefined ? longModel(join(ROOT, "demo-model/tiny.gguf")) : resolve(values.model);
}

/** One line of the table: medians over the repeats. */
function row(name: string, runs: readonly (readonly Measured[])[]): string {
  const at = (turn: number, key: "firstMs" | "cpuMs") =>
    median(runs.map((answers) => answers.at(turn)?.[key] ?? Number.NaN));
  const byTurn = (key: "firstMs" | "cpuMs") => [
    ...[0, 1, -1].map((turn) => at(turn, key).toFixed(0)),
    (at(-1, key) / at(1, key)).toFixed(2),
  ];
  const last = runs[0]?.at(-1);
  const totals = runs.map((answers) => answers.reduce((sum, { totalMs }) => sum + totalMs, 0) / 1000);
  const computed = (runs[0] ?? []).map(({ prompt, cached }) => prompt - cached);
  const sum = computed.reduce((all, tokens) => all + tokens, 0);
  const ends = [median(totals).toFixed(1), last?.prompt, computed.at(-1), sum];
  return `| ${[name, ...byTurn("firstMs"), ...byTurn("cpuMs"), ...ends].join(" | ")} |`;
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    killRunning();
    process.exit(130);
  });
}
const { values } = parseArgs({
  options: {
    model: { type: "string" },
    turns: { type: "string", default: "30" },
    tools: { type: "string", default: "20" },
    repeats: { type: "string", default: "3" },
    template: { type: "string" },
    only: { type: "string", default: "" },
    mcp: { type: "string", default: "0" },
    context: { type: "string", default: "32768" },
    peer: { type: "boolean", default: false },
  },
});
const traffic = makeTraffic(Number(values.turns), Number(values.tools), catalogTools(Number(values.mcp)));
const template = values.template === undefined ? undefined : resolve(values.template);
const named = MODELS.find((name) => name === values.model);
const peer = values.peer || named !== undefined ? await ensurePeer() : undefined;
const model = await modelFile();
const shown = (name: string, tokens: number): Way => ({
  name: `svc, ${name}`,
  side: "svc",
  flags: ["--tools-in-prompt", String(tokens)],
});
const ways: readonly Way[] = [
  { name: "svc", side: "svc", flags: [] },
  ...(values.mcp === "0" ? [] : [shown("4,000 tokens of tools", 4000), shown("all tools", 10_000_000)]),
  ...(values.peer ? [{ name: "llama-server", side: "llama-server" as const, flags: [] }] : []),
];
const columns = [1, 2, values.turns].map((turn) => `turn ${turn}`).join(" | ");
console.log(
  `| dialect | TTFT, ms: ${columns} | last / 2nd | CPU, ms: ${columns} | last / 2nd | all turns, s | prompt | computed | computed in all turns |`,
);
console.log(`|---|${"--:|".repeat(12)}`);
for (const dialect of DIALECTS.filter(({ name }) => name.includes(values.only))) {
  const runs = new Map<Way, (readonly Measured[])[]>(ways.map((way) => [way, []]));
  for (let repeat = 0; repeat < Number(values.repeats); repeat++) {
    for (const [way, list] of runs) {
      const answers = await replay(dialect, way);
      if (answers !== undefined) list.push(answers);
    }
  }
  for (const [way, list] of runs) {
    const name = `${way.name}, ${dialect.name}`;
    console.log(list.length === 0 ? `| ${name} | not served ||||||||||||` : row(name, list));
  }
}
