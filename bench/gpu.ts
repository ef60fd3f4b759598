// `bench/gpu.sh`: everything that a card should show, in a number of minutes: installs the back end, compares answers and architectures with
// the CPU's, and measures the most worthy cells first, svc beside llama-server and beside what the card could do (gpu-plan.ts). What was measured is
// kept whenever a cell is done (gpu-run.ts). Nothing is waited for longer than the time that is left.

import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BACKENDS } from "../src/backends/catalog.ts";
import { ensureGpuModel, GPU_MODELS, type GpuModel, hasGpuModel, sizeOf } from "./gpu-model.ts";
import { compareArchitectures, drive, installedFile, placementOf, useBackend } from "./gpu-parts.ts";
import {
  type Cell,
  cardOf,
  decodeBound,
  fittingCells,
  type Group,
  memoryOf,
  type Pace,
  planOf,
  secondsOf,
} from "./gpu-plan.ts";
import { type Measured, Run } from "./gpu-run.ts";
import { describeMachine, machineLine, THREADS } from "./machine.ts";
import { CACHE, type Peer, serverAlone } from "./peer.ts";
import { killRunning } from "./processes.ts";
import { type RunningServer, startServer } from "./servers.ts";

const USAGE = `usage: bench/gpu.sh [--minutes 8] [--models 8b,0.6b,30b-a3b] [--backends cuda,vulkan] [--cuda FILE] [--vulkan FILE] [--llama-server PROGRAM]
                    [--write docs/performance.md] [--results FOLDER] [--prepare] [--dry-run]

--backends: the first one that works here is measured
--cuda, --vulkan: the library of the back end, where svc has not installed it already; without any, only --dry-run goes on
--llama-server: one that was built with the same back end
--write: puts the table into a document, below "## On a graphics card", after each cell
--results: where what is measured is kept, cell by cell; a run with the same executable, devices and --llama-server goes on with it
--prepare: makes the models, checks the files that are named and ends, before there is a card
--dry-run: the whole flow with the built-in model and short prompts, on whatever is there`;

const TOKENS_PER_WORD = 3;
const MARGIN = 512;
const ANSWER_TOKENS = 64;
/** A server has started within this time, or does not start. */
const START_MS = 15_000;
/** The same where kernels may be compiled first. */
const FIRST_START_MS = 60_000;
/** What the slowest disk reads of a model. */
const DISK_BYTES_PER_MS = 200_000;
/** Answers of a few tokens come within this time. */
const ANSWER_MS = 30_000;
/** A cell is given up after this time, or that multiple of what is expected, so that it does not take the time of all others. */
const CELL_MS = 20_000;
const CELL_LATE = 2;
/** Failed cells after which a server is given up. */
const FAILED_MAX = 2;
/** Making a model takes about this long. */
const MAKE_MS: Readonly<Record<GpuModel, number>> = {
  "0.6b": 30e3,
  moe: 30e3,
  "8b": 90e3,
  "30b-a3b": 180e3,
  tiny: 0,
};
/** Before anything was measured. */
const FIRST_PACE: Pace = { prompt: 3000, decode: 100 };

/** Share of the time for the comparison of architectures. */
const ZOO_SHARE = 0.2;

/** The first back end that works here, with its devices; undefined without any. */
async function install(
  names: readonly string[],
  files: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  for (const name of names) {
    const kind = BACKENDS.find((one) => one.name === name);
    if (kind === undefined) throw new Error(`--backends: there is no ${name}`);
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
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      const { choices } = (await response.json()) as { choices?: { message: { content: string } }[] };
      return choices?.[0]?.message.content ?? `status ${response.status}`;
    }),
  );
}

/** Answers of the built-in model on the device, with lists and with whole rows, and on the CPU. */
async function compareAnswers(isOnDevice: boolean, peer: Peer): Promise<readonly string[]> {
  const modelPath = await ensureGpuModel("tiny");
  const answers: (readonly string[])[] = [];
  for (const [flags, sampling] of [
    [[], isOnDevice ? "" : "cpu"],
    [[], "off"],
    [["--cpu"], ""],
  ] as const) {
    process.env["SVC_DEVICE_SAMPLING"] = sampling; // servers inherit it
    const options = { modelPath, threads: THREADS, sequences: 4, cells: 2048, flags };
    const server = await startServer("svc", { ...options, readyMs: FIRST_START_MS }, peer);
    try {
      answers.push(await answersOf(server));
    } finally {
      await server.stop();
      delete process.env["SVC_DEVICE_SAMPLING"];
    }
  }
  const [lists, rows, cpu] = answers.map((list) => JSON.stringify(list));
  const same = answers[0]?.filter((answer, i) => answer === answers[2]?.[i]).length ?? 0;
  return [
    `Answers from lists and from whole rows are ${lists === rows ? "equal" : "DIFFERENT"}.`,
    lists === cpu ? "All equal the CPU's." : `${same} of ${SAMPLED.length} equal the CPU's.`,
  ];
}

interface Bounds {
  readonly isDry: boolean;
  readonly peer: Peer;
}

/** Cells of a group that are neither measured nor too large for the card. */
async function cellsLeft(run: Run, { model, side, cells, flags }: Group): Promise<readonly Cell[]> {
  const name = [side, ...flags].join(" ");
  const open = cells.filter((cell) => !run.has({ model, side: name, ...cell }));
  const memory = memoryOf(run.devices);
  if (memory === undefined || open.length === 0) return open;
  const size = sizeOf(model, statSync(await ensureGpuModel(model)).size);
  const fitting = fittingCells(open, size, { memory, margin: MARGIN + ANSWER_TOKENS });
  for (const { streams, promptTokens } of open.filter((cell) => !fitting.includes(cell)))
    run.skip(`${model} on ${name}, ${streams} × ${promptTokens}`, "since the card is too small");
  return fitting;
}

/** Measures what time is left for. */
async function measureGroup(run: Run, group: Group, { isDry, peer }: Bounds): Promise<void> {
  const { model, side, flags } = group;
  const name = [side, ...flags].join(" ");
  const makingMs = hasGpuModel(model) ? 0 : MAKE_MS[model];
  if (run.left < START_MS + makingMs) return run.skip(`${model} on ${name}`, "for lack of time");
  const cells = await cellsLeft(run, group);
  if (cells.length === 0) return;
  const answerTokens = isDry ? 8 : ANSWER_TOKENS;
  const sequences = Math.max(...cells.map(({ streams }) => streams));
  const tokens = Math.max(
    ...cells.map(({ streams, promptTokens }) => streams * (promptTokens + MARGIN + answerTokens)),
  );
  const modelPath = await ensureGpuModel(model);
  const options = {
    modelPath,
    threads: THREADS,
    sequences,
    cells: tokens,
    flags: flags.includes("mtp") ? [...flags, "--mtp-model", modelPath] : flags,
  };
  const readyMs = Math.min(FIRST_START_MS + statSync(modelPath).size / DISK_BYTES_PER_MS, run.left);
  const server = await startServer(side, { ...options, readyMs }, peer);
  try {
    const placement = await placementOf(server);
    let pace = isDry ? { prompt: 200, decode: 20 } : FIRST_PACE;
    let failed = 0;
    for (const cell of cells) {
      const what = `${model} on ${name}, ${cell.streams} × ${cell.promptTokens}`;
      const expectedMs = secondsOf(cell, answerTokens, pace) * 1000;
      if (expectedMs > run.left) {
        run.skip(what, "for lack of time");
        continue;
      }
      const limitMs = Math.min(run.left, Math.max(CELL_MS, CELL_LATE * expectedMs));
      const subject = { model, side: name, placement };
      try {
        pace = await measureCell(run, subject, server, { ...cell, answerTokens, limitMs });
      } catch (error) {
        run.fail(what, error);
        if (++failed === FAILED_MAX) throw new Error("the other cells are left out", { cause: error });
      }
    }
  } finally {
    await server.stop();
  }
}

async function measureCell(
  run: Run,
  subject: Pick<Measured, "model" | "side" | "placement">,
  { port }: RunningServer,
  {
    streams,
    promptTokens,
    answerTokens,
    limitMs,
  }: Cell & { readonly answerTokens: number; readonly limitMs: number },
): Promise<Pace> {
  run.say(`  ${streams} × ${promptTokens}`);
  const words = Math.max(1, Math.floor(promptTokens / TOKENS_PER_WORD));
  const load = { port, streams, requests: streams, maxTokens: answerTokens, words, sharedWords: 0, ask: "" };
  const seed = streams * 100_000 + promptTokens;
  const options = { ...load, seed, warmup: Math.min(2, streams), model: "default", body: {} };
  const result = await drive(options, limitMs);
  if (result.errors > 0) throw new Error(`${result.errors} requests of ${streams} × ${promptTokens} failed`);
  const { tokensPerSecond, promptTokensPerSecond, ttftP50Ms: ttftMs } = result;
  const card = cardOf(run.devices);
  const size = sizeOf(subject.model, statSync(await ensureGpuModel(subject.model)).size);
  const bound = card && decodeBound(card, size, { streams, promptTokens });
  run.add({ ...subject, streams, promptTokens, tokensPerSecond, promptTokensPerSecond, ttftMs, bound });
  return { prompt: Math.max(1, promptTokensPerSecond), decode: Math.max(1, tokensPerSecond) };
}

/** What is needed besides the models, before there is a card. */
function checkFiles(program: string | undefined, files: Readonly<Record<string, string | undefined>>): void {
  const named = [program, ...Object.values(files)].filter((path) => path !== undefined);
  for (const path of named) if (!existsSync(path)) throw new Error(`${path} is missing`);
  if (program === undefined) return;
  const { exitCode, stderr } = Bun.spawnSync([program, "--version"], { timeout: START_MS });
  if (exitCode !== 0) throw new Error(`${program} does not run: ${stderr.toString().trim()}`);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "8" },
      models: { type: "string", default: "8b,0.6b,30b-a3b" },
      backends: { type: "string", default: "cuda,vulkan" },
      vulkan: { type: "string" },
      cuda: { type: "string" },
      "llama-server": { type: "string" },
      write: { type: "string" },
      results: { type: "string", default: join(CACHE, "results") },
      prepare: { type: "boolean", default: false },
      "dry-run": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const minutes = Number(values.minutes);
  if (values.help || !(minutes > 0)) return console.log(USAGE);
  const { "dry-run": isDry, vulkan, cuda, "llama-server": program, results: folder } = values;
  const models = isDry
    ? (["tiny"] as const)
    : values.models.split(",").filter((name): name is GpuModel => name in GPU_MODELS);
  checkFiles(program, { vulkan, cuda });
  if (values.prepare) {
    for (const model of models) await ensureGpuModel(model);
    return;
  }
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => {
      killRunning(); // else a server would hold the card
      process.exit(130);
    });
  const endMs = performance.now() + minutes * 60_000;
  const machine = await machineLine(program, THREADS);
  const devices = await install(values.backends.split(","), { vulkan, cuda });
  if (devices === undefined && !isDry)
    throw new Error("no back end works here; name its library with --cuda or --vulkan");
  const { executable } = await describeMachine();
  const run = new Run(`${executable} ${program ?? ""} ${devices ?? NO_DEVICE}`, devices ?? NO_DEVICE, {
    endMs,
    folder,
    machine,
    document: values.write,
  });
  const [peer, isOnDevice] = [serverAlone(program ?? ""), devices !== undefined];
  await run.step("answers", () => compareAnswers(isOnDevice, peer));
  await run.step("architectures", async () => {
    const seconds = (run.left / 1000) * ZOO_SHARE;
    const { sentences, isComplete } = await compareArchitectures(seconds, { isOnDevice, isDry });
    if (isComplete) return sentences;
    run.skip(sentences.join(" "), "to the end, for lack of time");
    return [];
  });
  for (const group of planOf(models, program !== undefined, isDry))
    await run.step([group.model, group.side, ...group.flags].join(" "), async () => {
      await measureGroup(run, group, { isDry, peer });
      return [];
    });
  run.write();
  console.log(run.table());
}

await main().catch((error: unknown) => {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});
