// `bun bench/bus.ts`: what a step costs on a device, in numbers that do not depend on its speed: copies and bytes of each direction, waits,
// graphs that are used again. Counted below llama.cpp (bus.c) with a model of random weights and Qwen's vocabulary, on the CPU as the
// device, or on the devices of the back ends in --backends FOLDER, as ~/.cache/svc. Mesa's software device cannot compute the logits of so many
// tokens, so that the CPU would: give it --vocabulary 32000. A second table has steps of the engine (bus-steps.ts), a
// third one passes over many cells (bus-cells.ts). --tables passes,steps,cells prints some of them; --tables attention has times of passes with
// --streams STREAMSxCELLS,… in one cache and in caches of their own (bus-attention.ts).

import { dlopen } from "bun:ffi";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { newSampler } from "../ffi/llama/sampler.ts";
import { LlamaBackend } from "../ffi/llama/llama.ts";
import { unpackLibraries } from "../ffi/embedded.ts";
import { type Native, openNative } from "../ffi/library.ts";
import { installedBackends } from "../src/backends/store.ts";
import { DEFAULT_SAMPLING } from "../src/core/sampling.ts";
import type { SlotId } from "../src/worker/text/backend.ts";
import { exec } from "./exec.ts";
import { type AttentionRow, attentionRow, attentionTable, LAYOUTS } from "./bus-attention.ts";
import { CELL_CONTEXT, CELL_STREAMS, type CellRow, cellRows, cellsTable } from "./bus-cells.ts";
import { type EngineRow, engineSteps } from "./bus-steps.ts";
import { ensureBusModel } from "./gpu-model.ts";
import { CACHE } from "./peer.ts";

const STEPS = 16;
const PROMPT_TOKENS = 512;
const COUNTS = 6;
/** Cells for 64 streams and for a long prompt. */
const STEPS_CONTEXT = 32_768;

/** Counts of one kind of step, each per step. */
export interface BusRow {
  readonly test: string;
  readonly sampling: string;
  readonly waits: number;
  readonly bytesBack: number;
  readonly bytesThere: number;
  readonly copies: number;
  readonly graphs: number;
  /** Part of the steps that used the graph of the one before. */
  readonly reused: number;
}

const { values } = parseArgs({
  options: {
    backends: { type: "string" },
    rows: { type: "string", default: "1,8,64" },
    sampling: { type: "string" },
    of: { type: "string" },
    tables: { type: "string", default: "passes,steps,cells" },
    vocabulary: { type: "string" },
    streams: { type: "string", default: "1x8192,8x8192,64x1024" },
  },
});

const VOCABULARY = values.vocabulary === undefined ? undefined : Number(values.vocabulary);

interface Subject {
  readonly backend: LlamaBackend;
  readonly native: Native;
  /** Counts since the last call. */
  readonly counts: () => readonly number[];
}

/** The model in this process, whose environment has the library of bus.c and the way of sampling. */
async function open(
  maxSeqs: number,
  contextLen = maxSeqs * (STEPS + 2) + 2048,
  pagedAttn = true,
): Promise<Subject> {
  const counter = dlopen(join(CACHE, "bus.so"), { bus_counts: { args: ["buffer"], returns: "void" } });
  const out = new BigInt64Array(COUNTS);
  const counts = (): readonly number[] => {
    counter.symbols.bus_counts(out);
    return Array.from(out, Number);
  };
  const { backends } = values;
  const libraries = backends === undefined ? [] : installedBackends(backends);
  const native = openNative(unpackLibraries(CACHE), 0, libraries, (failure) => {
    throw new Error(failure);
  });
  const backend = await LlamaBackend.load(native, await ensureBusModel(VOCABULARY), {
    kind: "text",
    cacheDir: CACHE,
    maxSeqs,
    prefixCacheN: 0,
    contextLen,
    cacheType: "f16",
    pagedAttn,
    threads: 1,
    batch: PROMPT_TOKENS,
    ubatch: PROMPT_TOKENS,
    deviceLayers: backends === undefined ? 0 : -1,
    placement: {},
    verbosity: 0,
  });
  return { backend, native, counts };
}

/** A pass of `n` rows, `perSlot` of each sequence. */
function pass(backend: LlamaBackend, n: number, position: number, perSlot: number): void {
  const columns = {
    token: Int32Array.from({ length: n }, (_, i) => 300 + ((i * 31 + position) % 900)),
    position: Int32Array.from({ length: n }, (_, i) => position + (i % perSlot)),
    slot: Int32Array.from({ length: n }, (_, i) => Math.floor(i / perSlot)),
    output: new Int8Array(n).fill(perSlot === 1 ? 1 : 0),
  };
  if (backend.decode(columns, n) !== "done") throw new Error("a pass failed");
}

/** `steps` steps after one that is not counted. */
function counted({ backend, counts }: Subject, test: string, steps: number, step: (at: number) => void) {
  step(0);
  counts();
  const before = backend.traffic().reusedGraphs;
  for (let at = 1; at <= steps; at++) step(at);
  const [waits = 0, back = 0, there = 0, copies = 0, graphs = 0] = counts().map((count) => count / steps);
  const reused = (backend.traffic().reusedGraphs - before) / steps;
  return { test, waits, bytesBack: back, bytesThere: there, copies, graphs, reused };
}

function decodeRows(subject: Subject, n: number) {
  const { backend, native } = subject;
  const params = { ...DEFAULT_SAMPLING, topK: 40, topP: 0.95, temperature: 0.8 };
  const spec = { params, prompt: new Int32Array(), seed: 1 };
  const samplers = Array.from({ length: n }, (_, choice) =>
    newSampler(native, backend.modelHandle, { ...spec, choice }),
  );
  const handles = BigUint64Array.from(samplers);
  const rows = Int32Array.from({ length: n }, (_, i) => i);
  const [masks, tokens] = [new BigUint64Array(n), new Int32Array(n)];
  const row = counted(subject, `${n} rows`, STEPS, (position) => {
    pass(backend, n, position, 1);
    backend.sample(n, rows, handles, masks, tokens);
  });
  samplers.forEach((sampler) => backend.freeSampler(sampler));
  for (let slot = 0; slot < n; slot++) backend.cutSlot(slot as SlotId, 0);
  return row;
}

async function measure(sampling: string): Promise<readonly BusRow[]> {
  const rowCounts = values.rows.split(",").map(Number);
  const subject = await open(Math.max(...rowCounts));
  const rows = rowCounts.map((n) => decodeRows(subject, n));
  const prompt = counted(subject, `${PROMPT_TOKENS} tokens of a prompt`, 3, (at) =>
    pass(subject.backend, PROMPT_TOKENS, at * PROMPT_TOKENS, PROMPT_TOKENS),
  );
  subject.backend.close();
  return [...rows, prompt].map((row) => ({ ...row, sampling }));
}

function table(rows: readonly BusRow[]): string {
  const kib = (bytes: number): string => (bytes / 1024).toFixed(bytes < 10_240 ? 1 : 0);
  const lines = rows.map(
    ({ test, sampling, waits, bytesBack, bytesThere, copies, graphs, reused }) =>
      `| ${test} | ${sampling} | ${kib(bytesBack)} | ${kib(bytesThere)} | ${copies.toFixed(1)} | ${waits.toFixed(1)} | ${graphs.toFixed(1)} | ${(100 * reused).toFixed(0)} % |`,
  );
  return [
    "| Pass | Sampling | KiB from the device | KiB to it | Copies | Waits | Graphs computed | Reused |",
    "|---|---|--:|--:|--:|--:|--:|--:|",
    ...lines,
  ].join("\n");
}

/** Steps of the engine, in this process. */
async function measureSteps(): Promise<readonly EngineRow[]> {
  const rowCounts = values.rows.split(",").map(Number);
  const { backend, counts } = await open(Math.max(...rowCounts), STEPS_CONTEXT);
  const rows = engineSteps(backend, counts, rowCounts);
  backend.close();
  return rows;
}

/** Passes over many cells, in this process. */
async function measureCells(): Promise<readonly CellRow[]> {
  const { backend, counts } = await open(CELL_STREAMS, CELL_CONTEXT);
  const rows = cellRows(backend, counts, PROMPT_TOKENS);
  backend.close();
  return rows;
}

/** Passes of equal streams, in this process. */
async function measureAttention(): Promise<readonly AttentionRow[]> {
  const rows: AttentionRow[] = [];
  for (const [streams = 1, cells = 256] of values.streams
    .split(",")
    .map((kind) => kind.split("x").map(Number)))
    for (const layout of LAYOUTS) {
      const { backend } = await open(
        streams,
        streams * Math.ceil((cells + 64) / 256) * 256,
        layout !== "own",
      );
      rows.push(attentionRow(backend, [streams, cells], layout, PROMPT_TOKENS));
      console.error(`bench: ${JSON.stringify(rows.at(-1))}`);
      backend.close();
    }
  return rows;
}

function stepsTable(rows: readonly EngineRow[]): string {
  const lines = rows.map(
    ({ test, goesOn, steps, waits, graphs, reused, hostMs, idleMs, beginMs }) =>
      `| ${test} | ${goesOn ? "goes on" : "waited for"} | ${steps} | ${waits.toFixed(1)} | ${graphs.toFixed(1)} | ${(100 * reused).toFixed(0)} % | ${hostMs.toFixed(3)} | ${idleMs.toFixed(3)} | ${beginMs.toFixed(3)} |`,
  );
  return [
    "| Steps of the engine | A pass | Steps | Waits | Graphs computed | Reused | Host ms | Idle ms | Begin ms |",
    "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ...lines,
  ].join("\n");
}

/** A process with the counting library, and what it prints. */
async function counting(args: readonly string[], sampling: string): Promise<unknown> {
  const command = [process.execPath, import.meta.path, ...process.argv.slice(2), ...args];
  const env = { ...process.env, LD_PRELOAD: join(CACHE, "bus.so"), SVC_DEVICE_SAMPLING: sampling };
  const child = Bun.spawn(command, { env, stdio: ["ignore", "pipe", "inherit"] });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`the counts of ${args.join(" ")} failed`);
  return JSON.parse(text);
}

/** One process for each way of sampling. */
async function main(): Promise<void> {
  if (values.of === "steps") return console.log(JSON.stringify(await measureSteps()));
  if (values.of === "cells") return console.log(JSON.stringify(await measureCells()));
  if (values.of === "attention") return console.log(JSON.stringify(await measureAttention()));
  if (values.sampling !== undefined) return console.log(JSON.stringify(await measure(values.sampling)));
  const library = join(CACHE, "bus.so");
  mkdirSync(CACHE, { recursive: true });
  await exec(["cc", "-shared", "-fPIC", "-O1", "-o", library, join(import.meta.dir, "bus.c")], CACHE);
  await ensureBusModel(VOCABULARY);
  const device = values.backends === undefined ? "cpu" : "";
  const tables = values.tables.split(",");
  const rows: BusRow[] = [];
  if (tables.includes("passes"))
    for (const [sampling, setting] of [
      ["whole rows", "off"],
      ["lists", device],
    ] as const)
      rows.push(...((await counting(["--sampling", sampling], setting)) as readonly BusRow[])); // of measure()
  if (rows.length > 0) console.log(table(rows));
  if (tables.includes("steps"))
    console.log(stepsTable((await counting(["--of", "steps"], device)) as readonly EngineRow[])); // of measureSteps()
  if (tables.includes("cells"))
    console.log(cellsTable((await counting(["--of", "cells"], "off")) as readonly CellRow[])); // of measureCells()
  if (tables.includes("attention"))
    console.log(attentionTable((await counting(["--of", "attention"], "off")) as readonly AttentionRow[])); // of measureAttention()
}

await main();
