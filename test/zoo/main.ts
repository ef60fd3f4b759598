// `npm run test:zoo`: small models of many architectures with random weights, through our engine and through llama.cpp's
// unpatched libraries of the same release. Each runs in processes of its own. Prints a table; --write puts it into results.txt.
// --devices CACHE: ours with all layers on the devices of the back ends that are installed in svc's folder there. --own: beside our own
// libraries on the CPU, which needs no network. --seconds N: none is begun after that time, and what then runs is ended.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { architecture, ARCHITECTURE_NAMES } from "../helpers/architectures.ts";
import { answersOf, apart, judge, type Verdict } from "./compare.ts";
import { ensureReference, ownLibraries } from "./libraries.ts";
import {
  type ReferenceReport,
  type ReferenceTask,
  type ScenarioName,
  SCENARIOS,
  type SubjectReport,
} from "./report.ts";
import { preloadLibrary } from "../vulkan/preload.ts";
import { holds, type Row, rowText, resultsText } from "./table.ts";

/** No architecture takes a tenth of it on an idle machine. */
const PROCESS_MS_MAX = 240_000;
const { values } = parseArgs({
  options: {
    only: { type: "string" },
    devices: { type: "string" },
    write: { type: "boolean", default: false },
    own: { type: "boolean", default: false },
    seconds: { type: "string", default: "Infinity" },
  },
});
const END_MS = performance.now() + Number(values.seconds) * 1000;
const RESULTS = join(import.meta.dir, "results.txt");

interface Wishes {
  readonly write: boolean;
  readonly own: boolean;
}

interface Outcome<T> {
  readonly value?: T;
  /** Why there is none. */
  readonly failure: string;
}

/** Runs a file of this folder and reads what it prints as JSON. */
async function child<T>(file: string, args: readonly string[], input = ""): Promise<Outcome<T>> {
  const command = [process.execPath, join(import.meta.dir, file), ...args];
  const options = {
    env: process.env, // with what was added here
    stdin: Buffer.from(input),
    stdout: "pipe",
    stderr: "pipe",
    timeout: Math.max(1, Math.floor(Math.min(PROCESS_MS_MAX, END_MS - performance.now()))),
  } as const;
  const started = Bun.spawn(command, options);
  const [output, errors] = await Promise.all([
    new Response(started.stdout).text(),
    new Response(started.stderr).text(),
    started.exited,
  ]);
  if (started.exitCode === 0) return { value: JSON.parse(output), failure: "" };
  const why = /GGML_ASSERT.*|Error: .*|error: .*|panic.*/.exec(errors)?.[0] ?? errors.trim().slice(-200);
  return { failure: `${started.signalCode ?? `exit code ${started.exitCode}`}: ${why}` };
}

function taskOf({ path, scenarios, embeddings }: SubjectReport): ReferenceTask {
  const all = answersOf(scenarios);
  return {
    path,
    inputs: embeddings?.inputs ?? [],
    answers: all.map(({ prompt, tokens }) => ({ prompt, tokens: tokens.map(({ token }) => token) })),
    wanted: all.map(({ tokens }) => tokens.map(({ token, top }) => [token, ...top.map(([id]) => id)])),
  };
}

function verdicts(
  { scenarios }: SubjectReport,
  { scores }: ReferenceReport,
  mixture: boolean,
): Partial<Record<ScenarioName, Verdict>> {
  const alone = scenarios.alone?.answers ?? [];
  let from = 0;
  const entries = Object.entries(scenarios).map(([name, scenario]) => {
    const own = scores.slice(from, (from += scenario.answers.length));
    return [name, judge(scenario, own, alone, mixture)] as const;
  });
  return Object.fromEntries(entries);
}

/** Smallest 1 − cosine between the vectors of two inputs. */
function nearest(vectors: readonly (readonly number[])[]): number {
  const pairs = vectors.flatMap((a, index) => vectors.slice(index + 1).map((b) => apart([a], [b])));
  return Math.min(...pairs);
}

async function rowOf(name: string, models: string, libraries: string): Promise<Row> {
  const { traits } = architecture(name);
  const ours = await child<SubjectReport>("subject.ts", [name, models]);
  const row = { name, traits, counts: {}, verdicts: {}, contextEffect: 0, maxSeqs: 0, failure: ours.failure };
  if (ours.value === undefined) return row;
  const { scenarios, maxSeqs, embeddings } = ours.value;
  const theirs = await child<ReferenceReport>(
    "reference.ts",
    [libraries],
    JSON.stringify(taskOf(ours.value)),
  );
  if (theirs.value === undefined) return { ...row, failure: `reference: ${theirs.failure}` };
  if (embeddings !== undefined) {
    const { vectors } = theirs.value;
    const { alone, together } = embeddings;
    const vectorsApart = { alone: apart(alone, vectors), together: apart(together, vectors) };
    return { ...row, maxSeqs, vectorsApart: { ...vectorsApart, inputs: nearest(vectors) } };
  }
  const counts = Object.fromEntries(SCENARIOS.map((scenario) => [scenario, scenarios[scenario]?.count ?? 0]));
  const { contextEffect } = theirs.value;
  const judged = verdicts(ours.value, theirs.value, traits.includes("moe"));
  return { ...row, counts, contextEffect, maxSeqs, verdicts: judged };
}

async function main(names: readonly string[], { write, own }: Wishes): Promise<boolean> {
  const models = mkdtempSync(join(tmpdir(), "svc-zoo-"));
  const reference = own ? ownLibraries(models) : await ensureReference();
  if (reference.type === "missing") {
    console.log(`SKIPPED: the architecture suite did not run: ${reference.reason}`);
    rmSync(models, { recursive: true });
    return true;
  }
  const rows: Row[] = [];
  for (const name of names) {
    if (performance.now() > END_MS) break;
    const row = await rowOf(name, models, reference.dir);
    rows.push(row);
    console.log(rowText(row));
    rmSync(join(models, `${name}.gguf`), { force: true });
  }
  rmSync(models, { recursive: true, force: true });
  const failed = rows.filter((row) => !holds(row));
  console.log(`\n${rows.length - failed.length} of ${rows.length} architectures pass.`);
  for (const { name, failure } of failed) console.log(`FAILED ${name} ${failure}`);
  if (write) await Bun.write(RESULTS, resultsText(rows, reference.release));
  return failed.length === 0;
}

// Of the child processes:
if (values.devices !== undefined) process.env.SVC_TEST_BACKENDS = values.devices;
if (process.env.VK_DRIVER_FILES?.includes("lvp_icd")) process.env.LD_PRELOAD = preloadLibrary(); // faults.c says why
const chosen = values.only?.split(",") ?? ARCHITECTURE_NAMES;
process.exit((await main(chosen, values)) ? 0 : 1);
