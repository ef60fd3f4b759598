// `bench/gpu.sh --minutes N`: everything that a card should show, in N minutes: installs the back end, compares answers and architectures with
// the CPU's, and measures the most worthy cells first, svc beside llama-server and beside what the card could do (gpu-plan.ts). What was measured is
// written whenever a cell is done, so that an end at any time leaves a table.

import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BACKENDS } from "../src/backends/catalog.ts";
import { ensureGpuModel, GPU_MODELS, type GpuModel, sizeOf } from "./gpu-model.ts";
import { compareArchitectures, drive, installedFile, placementOf, useBackend } from "./gpu-parts.ts";
import { type Cell, cardOf, decodeBound, type Group, type Pace, planOf, secondsOf } from "./gpu-plan.ts";
import { machineLine, THREADS } from "./machine.ts";
import { CACHE, type Peer, serverAlone } from "./peer.ts";
import { type RunningServer, startServer } from "./servers.ts";

const USAGE = `usage: bench/gpu.sh --minutes 8 [--models 8b,0.6b,30b-a3b] [--cuda FILE] [--vulkan FILE] [--llama-server PROGRAM]
                    [--write docs/performance.md] [--dry-run]

--cuda, --vulkan: the library of the back end, where svc has not installed it already; without any, only --dry-run goes on
--llama-server: one that was built with the same back end
--write: puts the table into a document, below "## On a graphics card"
--dry-run: the whole flow with the built-in model and short prompts, on whatever is there`;

const TOKENS_PER_WORD = 3;
const MARGIN = 512;
/** Kept for stopping a server and writing. */
const END_MS = 10_000;
/** Making models and starting servers takes this long at most, of a model that is there or not. */
const START_MS = 15_000;
const MAKE_MS: Readonly<Record<GpuModel, number>> = {
  "0.6b": 30e3,
  moe: 30e3,
  "8b": 90e3,
  "30b-a3b": 180e3,
  tiny: 0,
};
/** Before anything was measured. */
const FIRST_PACE: Pace = { prompt: 3000, decode: 100 };

interface Measured extends Cell {
  readonly model: GpuModel;
  readonly side: string;
  readonly tokensPerSecond: number;
  readonly promptTokensPerSecond: number;
  readonly ttftMs: number | null;
  /** Share of what the card could do, of answers. */
  readonly bound: number | undefined;
  readonly placement: string;
}

interface Run {
  readonly endMs: number;
  readonly devices: string;
  readonly peer: Peer;
  readonly isDry: boolean;
  readonly rows: Measured[];
  readonly notes: string[];
}

/** Share of the time for the comparison of architectures. */
const ZOO_SHARE = 0.2;

const left = ({ endMs }: Run): number => endMs - performance.now() - END_MS;

/** The first back end that works here; undefined without any. */
async function install(files: Readonly<Record<string, string | undefined>>): Promise<string | undefined> {
  for (const kind of BACKENDS.toReversed()) {
    const file = files[kind.name] ?? installedFile(kind);
    const devices = file === undefined ? undefined : await useBackend(kind, file);
    if (devices !== undefined) return `${kind.name}: ${devices}`;
  }
  return undefined;
}

const NO_DEVICE = "without a device";

const SAMPLED: readonly Readonly<Record<string, unknown>>[] = [
  { temperature: 0 },
  { temperature: 0.8, top_k: 40, seed: 1 },
  { temperature: 0.7, top_p: 0.9, seed: 2 },
  { temperature: 1, min_p: 0.1, presence_penalty: 0.5, seed: 3 },
];

async function answersOf({ port }: RunningServer): Promise<readonly string[]> {
  return Promise.all(
    SAMPLED.map(async (options) => {
      const messages = [{ role: "user", content: "What is the capital of France?" }];
      const body = JSON.stringify({ model: "default", messages, max_tokens: 24, ...options });
      const headers = { "content-type": "application/json" };
      const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: "POST",
        body,
        headers,
      });
      const { choices } = (await response.json()) as { choices?: { message: { content: string } }[] };
      return choices?.[0]?.message.content ?? `status ${response.status}`;
    }),
  );
}

/** Answers of the built-in model on the device, with lists and with whole rows, and on the CPU. */
async function compareAnswers(run: Run): Promise<void> {
  const modelPath = await ensureGpuModel("tiny");
  const answers: (readonly string[])[] = [];
  const isOnDevice = run.devices !== NO_DEVICE;
  for (const [flags, sampling] of [
    [[], isOnDevice ? "" : "cpu"],
    [[], "off"],
    [["--cpu"], ""],
  ] as const) {
    process.env["SVC_DEVICE_SAMPLING"] = sampling; // servers inherit it
    const server = await startServer(
      "svc",
      { modelPath, threads: THREADS, sequences: 4, cells: 2048, flags },
      run.peer,
    );
    answers.push(await answersOf(server));
    await server.stop();
  }
  delete process.env["SVC_DEVICE_SAMPLING"];
  const [lists, rows, cpu] = answers.map((list) => JSON.stringify(list));
  run.notes.push(`Answers from lists and from whole rows are ${lists === rows ? "equal" : "DIFFERENT"}.`);
  const same = answers[0]?.filter((answer, i) => answer === answers[2]?.[i]).length ?? 0;
  run.notes.push(lists === cpu ? "All equal the CPU's." : `${same} of ${SAMPLED.length} equal the CPU's.`);
}

/** Measures what time is left for. */
async function measureGroup(run: Run, { model, side, cells, flags }: Group): Promise<void> {
  if (left(run) < START_MS + MAKE_MS[model]) return skip(run, `${model} on ${side} ${flags.join(" ")}`);
  const modelPath = await ensureGpuModel(model);
  const answerTokens = run.isDry ? 8 : 64;
  const most = Math.max(...cells.map(({ streams }) => streams));
  const tokens = Math.max(
    ...cells.map(({ streams, promptTokens }) => streams * (promptTokens + MARGIN + answerTokens)),
  );
  const options = { modelPath, threads: THREADS, sequences: most, cells: tokens, flags };
  const server = await startServer(side, options, run.peer);
  try {
    const placement = await placementOf(server);
    let pace = run.isDry ? { prompt: 200, decode: 20 } : FIRST_PACE;
    for (const cell of cells) {
      if (secondsOf(cell, answerTokens, pace) * 1000 > left(run)) {
        skip(run, `${model} on ${side}, ${cell.streams} × ${cell.promptTokens}`);
        continue;
      }
      pace = await measureCell(run, { model, side: [side, ...flags].join(" "), placement }, server, {
        ...cell,
        answerTokens,
      });
    }
  } finally {
    await server.stop();
  }
}

async function measureCell(
  run: Run,
  subject: Pick<Measured, "model" | "side" | "placement">,
  { port }: RunningServer,
  { streams, promptTokens, answerTokens }: Cell & { readonly answerTokens: number },
): Promise<Pace> {
  const words = Math.max(1, Math.floor(promptTokens / TOKENS_PER_WORD));
  const load = { port, streams, requests: streams, maxTokens: answerTokens, words, sharedWords: 0, ask: "" };
  const seed = streams * 100_000 + promptTokens;
  const result = await drive({ ...load, seed, warmup: Math.min(2, streams), model: "default", body: {} });
  if (result.errors > 0) throw new Error(`${result.errors} requests failed`);
  const { tokensPerSecond, promptTokensPerSecond, ttftP50Ms } = result;
  const card = cardOf(run.devices);
  const bound =
    card &&
    decodeBound(card, sizeOf(subject.model, statSync(await ensureGpuModel(subject.model)).size), {
      streams,
      promptTokens,
    });
  run.rows.push({
    ...subject,
    streams,
    promptTokens,
    tokensPerSecond,
    promptTokensPerSecond,
    ttftMs: ttftP50Ms,
    bound,
  });
  write(run, undefined);
  return { prompt: Math.max(1, promptTokensPerSecond), decode: Math.max(1, tokensPerSecond) };
}

function skip(run: Run, what: string): void {
  run.notes.push(`Not measured, for lack of time: ${what.trim()}.`);
}

function table({ rows, notes, devices }: Run): string {
  const figure = (value: number | null | undefined, digits = 0): string =>
    value === null || value === undefined ? "–" : value.toFixed(digits);
  const lines = rows.map(
    ({ model, side, streams, promptTokens, tokensPerSecond, promptTokensPerSecond, ttftMs, bound }) =>
      `| \`${model}\` | ${streams} × ${promptTokens} | ${side} | ${figure(tokensPerSecond, 1)} | ${figure(promptTokensPerSecond)} | ${figure(ttftMs)} | ${figure(bound)} |`,
  );
  return [
    `${devices}. Tokens/s of all streams with their prompts; the card's bound is that of answers alone.`,
    "",
    "| Model | Streams × prompt tokens | Server | tokens/s | Prompt tokens/s | First token, ms | Bound, tokens/s |",
    "|---|--:|---|--:|--:|--:|--:|",
    ...lines,
    "",
    ...notes,
  ].join("\n");
}

const HEADING = "## On a graphics card\n";
const [BEGIN, END] = ["<!-- written by bench/gpu.sh --minutes -->\n", "<!-- end of that -->\n"];

/** Writes the table, and into a document where one is named. */
function write(run: Run, document: string | undefined): void {
  mkdirSync(join(CACHE, "results"), { recursive: true });
  writeFileSync(join(CACHE, "results", "gpu.md"), `${table(run)}\n`);
  if (document === undefined) return;
  const text = readFileSync(document, "utf8").replace(new RegExp(`\n${BEGIN}[^]*?${END}`), "");
  if (!text.includes(HEADING)) throw new Error(`${document} has no heading "${HEADING.trim()}"`);
  writeFileSync(document, text.replace(HEADING, `${HEADING}\n${BEGIN}\n${table(run)}\n\n${END}`));
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "8" },
      models: { type: "string", default: "8b,0.6b,30b-a3b" },
      vulkan: { type: "string" },
      cuda: { type: "string" },
      "llama-server": { type: "string" },
      write: { type: "string" },
      "dry-run": { type: "boolean", default: false },
    },
  });
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) return console.log(USAGE);
  const { "dry-run": isDry, vulkan, cuda } = values;
  const program = values["llama-server"];
  const endMs = performance.now() + minutes * 60_000;
  const devices = await install({ vulkan, cuda });
  if (devices === undefined && !isDry)
    throw new Error("no back end works here; name its library with --cuda or --vulkan");
  const peer = serverAlone(program ?? "");
  const run: Run = { endMs, devices: devices ?? NO_DEVICE, peer, isDry, rows: [], notes: [] };
  await compareAnswers(run);
  const isOnDevice = devices !== undefined;
  run.notes.push(...(await compareArchitectures((left(run) / 1000) * ZOO_SHARE, { isOnDevice, isDry })));
  const models = isDry
    ? (["tiny"] as const)
    : values.models.split(",").filter((name): name is GpuModel => name in GPU_MODELS);
  for (const group of planOf(models, program !== undefined, isDry)) {
    try {
      await measureGroup(run, group);
    } catch (error) {
      run.notes.push(
        `${group.model} on ${group.side} failed: ${error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error)}.`,
      );
    }
  }
  write(run, values.write);
  console.log(`${await machineLine(program, THREADS)}\n\n${table(run)}`);
}

await main().catch((error: unknown) => {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});
