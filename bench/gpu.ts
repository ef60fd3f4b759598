// `bench/gpu.sh`: tokens a second of models on a graphics card, for each back end. Prints Markdown for docs/performance.md on stdout,
// progress on stderr, and appends each row to bench/.cache/results/gpu.jsonl. README.md says more.

import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BACKENDS } from "../src/backends/catalog.ts";
import { ensureGpuModel, GPU_MODELS, type GpuModel } from "./gpu-model.ts";
import { drive, installedFile, placementOf, useBackend } from "./gpu-parts.ts";
import { machineLine, THREADS } from "./machine.ts";
import { CACHE, type Peer, serverAlone } from "./peer.ts";
import { startServer } from "./servers.ts";

const USAGE = `usage: bench/gpu.sh --minutes 8 [--llama-server PROGRAM] …   (bench/gpu.sh --minutes help says more)
       bench/gpu.sh [--backends vulkan,cuda] [--models 0.6b,moe,8b] [--streams 1,8,64] [--prompts 4096,32768]
                    [--max 128] [--requests 3] [--vulkan FILE] [--cuda FILE] [--llama-server PROGRAM]

--vulkan, --cuda: the library of the back end, where svc has not installed it on this machine already
--llama-server: one that was built with the same back end; measured beside svc
--models tiny --streams 1,2 --prompts 128 --max 8 --requests 1: whether the script runs, also on a software device`;

interface Plan {
  readonly models: readonly GpuModel[];
  readonly streams: readonly number[];
  readonly prompts: readonly number[];
  readonly answerTokens: number;
  /** Requests of each stream, besides one to warm up. */
  readonly requests: number;
}

interface Row {
  readonly backend: string;
  readonly devices: string;
  readonly model: GpuModel;
  readonly server: string;
  readonly test: string;
  readonly tokensPerSecond: number | null;
  readonly ttftMs: number | null;
  readonly placement: string;
}

/** A word of load.ts is about three tokens of the built-in tokenizer; the row says how many a prompt had. */
const TOKENS_PER_WORD = 3;
/** Answer to a measured prompt: the first of its tokens may show no text. */
const PROMPT_ANSWER_TOKENS = 8;
/** Tokens around a prompt: template and answer. */
const MARGIN = 512;

async function measureServer(
  side: string,
  modelPath: string,
  { streams, prompts, answerTokens, requests: perStream }: Plan,
  peer: Peer,
): Promise<readonly Pick<Row, "test" | "tokensPerSecond" | "ttftMs" | "placement">[]> {
  const most = Math.max(...streams);
  const longest = Math.max(0, ...prompts);
  const cells = Math.max(most * (MARGIN + answerTokens), 2 * (longest + MARGIN));
  const server = await startServer(side, { modelPath, threads: THREADS, sequences: most, cells }, peer);
  try {
    const placement = await placementOf(server);
    const rows = [];
    const usual = { port: server.port, sharedWords: 0, ask: "", model: "default", body: {} };
    for (const count of streams) {
      const requests = perStream * count;
      const load = { ...usual, streams: count, requests, maxTokens: answerTokens, words: 64, seed: count };
      const { tokensPerSecond, ttftP50Ms, errors } = await drive({ ...load, warmup: count });
      if (errors > 0) throw new Error(`${side}: ${errors} requests failed`);
      rows.push({ test: `decode, ${count} streams`, tokensPerSecond, ttftMs: ttftP50Ms, placement });
    }
    for (const tokens of prompts) {
      const words = Math.floor(tokens / TOKENS_PER_WORD);
      const load = {
        ...usual,
        streams: 1,
        requests: 2,
        maxTokens: PROMPT_ANSWER_TOKENS,
        words,
        seed: tokens,
        warmup: 1,
      };
      const { promptTokensPerSecond, promptTokens, ttftP50Ms, errors } = await drive(load);
      if (errors > 0) throw new Error(`${side}: ${errors} requests failed`);
      const test = `prompt of ${Math.round(promptTokens / 2)} tokens`;
      rows.push({ test, tokensPerSecond: promptTokensPerSecond, ttftMs: ttftP50Ms, placement });
    }
    return rows;
  } finally {
    await server.stop();
  }
}

/** A figure; JSON has null for one that could not be measured, as the time to a first text that never came. */
function figure(value: number | null): string {
  return value === null ? "–" : value.toFixed(1);
}

function table(rows: readonly Row[]): string {
  const head =
    "| Back end | Model | Test | Server | tokens/s | TTFT, ms | Placement |\n|---|---|---|---|---|---|---|";
  const lines = rows.map(
    ({ backend, model, test, server, tokensPerSecond, ttftMs, placement }) =>
      `| ${backend} | ${model} | ${test} | ${server} | ${figure(tokensPerSecond)} | ${figure(ttftMs)} | ${placement} |`,
  );
  return [head, ...lines].join("\n");
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      backends: { type: "string", default: BACKENDS.map(({ name }) => name).join(",") },
      models: { type: "string", default: "0.6b,moe,8b" },
      streams: { type: "string", default: "1,8,64" },
      prompts: { type: "string", default: "4096,32768" },
      max: { type: "string", default: "128" },
      requests: { type: "string", default: "3" },
      vulkan: { type: "string" },
      cuda: { type: "string" },
      "llama-server": { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return console.log(USAGE);
  const models = values.models.split(",").filter((name): name is GpuModel => name in GPU_MODELS);
  const numbers = (text: string): readonly number[] =>
    text
      .split(",")
      .map(Number)
      .filter((n) => n > 0);
  const plan = {
    models,
    streams: numbers(values.streams),
    prompts: numbers(values.prompts),
    answerTokens: Number(values.max),
    requests: Number(values.requests),
  };
  if (models.length === 0 || plan.streams.length === 0) throw new Error(USAGE);
  const program = values["llama-server"];
  const peer = serverAlone(program ?? "");
  const wanted = new Set(values.backends.split(","));
  const rows: Row[] = [];
  const found = new Set<string>();
  for (const kind of BACKENDS.filter(({ name }) => wanted.has(name))) {
    const file = (kind.name === "cuda" ? values.cuda : values.vulkan) ?? installedFile(kind);
    if (file === undefined) {
      console.error(
        `bench: ${kind.name} is left out: it is not installed; name its library with --${kind.name}`,
      );
      continue;
    }
    const devices = await useBackend(kind, file);
    if (devices === undefined) continue;
    found.add(`${kind.name}: ${devices}`);
    for (const model of models) {
      const path = await ensureGpuModel(model);
      for (const server of program === undefined ? ["svc"] : ["svc", "llama-server"]) {
        console.error(`bench: ${kind.name}, ${model}, ${server}`);
        for (const row of await measureServer(server, path, plan, peer)) {
          rows.push({ backend: kind.name, devices, model, server, ...row });
          save(rows.at(-1));
        }
      }
    }
  }
  if (rows.length === 0) throw new Error("no back end could be measured");
  console.log(
    `${await machineLine(program === undefined ? undefined : program, THREADS)}; ${[...found].join("; ")}\n`,
  );
  console.log(table(rows));
}

function save(row: Row | undefined): void {
  const folder = join(CACHE, "results");
  mkdirSync(folder, { recursive: true });
  appendFileSync(join(folder, "gpu.jsonl"), `${JSON.stringify({ at: new Date().toISOString(), ...row })}\n`);
}

await main().catch((error: unknown) => {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});
