// `bun run bench`: compares svc and llama-server, one at a time, in interleaved pairs, with the same model files and client.
// Prints Markdown on stdout, progress on stderr. README.md explains the output.

import { join } from "node:path";
import { parseArgs } from "node:util";
import { Cells } from "./cells.ts";
import { describeMachine, machineLine, THREADS } from "./machine.ts";
import { bareDecodeSpeed, measureCost, measureRows, type RowTask, type SideRow } from "./measure.ts";
import { ensureModel, MODELS, type ModelName } from "./model.ts";
import { CACHE, ensurePeer, type Peer } from "./peer.ts";
import { killRunning } from "./processes.ts";
import { type CostRow, costTable, plainRows, remarks, table } from "./report.ts";
import { sandboxTable } from "./sandbox.ts";
import { SCENARIOS, type Scenario } from "./scenarios.ts";
import { SIDES } from "./servers.ts";
import { startupTable } from "./startup.ts";

const SCENARIO_NAMES = SCENARIOS.map((scenario) => scenario.name);
/** Prefill of each shape and decode of the other shapes take hours: by name only. */
const USUAL_SCENARIOS = SCENARIO_NAMES.filter((name) => !name.startsWith("prompt-"));
const USUAL_MODELS: readonly ModelName[] = ["nano", "qwen3-0.6b", "moe", "windows", "hybrid", "builtin"];

/** Prompt and answer must fit the context of the nano model. */
const LONG_MAX = 28_000;

const USAGE = `usage: bun run bench [--models ${MODELS.join(",")}] [--scenarios ${SCENARIO_NAMES.join(",")}]
                     [--streams 1,8,32] [--pairs 3] [--threads N] [--long 16384] [--quick]
                     [--peer NAME=COMMAND ...] [--sides ${SIDES.join(",")}] [--resume] [--no-startup]`;

interface Settings extends Pick<RowTask, "sides" | "pairs" | "threads" | "longTokens"> {
  readonly models: readonly ModelName[];
  readonly scenarios: readonly Scenario[];
  readonly streams: readonly number[];
  /** Smoke test: one pair, a quarter of the requests, an eighth of a long answer. Not for quoting. */
  readonly quick: boolean;
  /** Commands of --peer by name. */
  readonly others: ReadonlyMap<string, string>;
  /** Names of --peer without a command. */
  /** Takes rows that this executable has on this processor already. */
  readonly resume: boolean;
  readonly startup: boolean;
}

async function main(settings: Settings): Promise<void> {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      killRunning();
      process.exit(130);
    });
  }
  const peer = { ...(await ensurePeer()), others: settings.others };
  console.log(`${await machineLine(peer.release, settings.threads)}\n`);
  const rows: Rows = { plain: [], costs: [] };
  const cells = new Cells(join(CACHE, "results", "cells.jsonl"), await describeMachine());
  console.error(`bench: all measurements are appended to ${cells.path}`);
  for (const model of settings.models) await measureModel(model, settings, { peer, cells, rows });
  printRows(rows, settings);
  if (settings.startup) {
    console.log(`\n${await startupTable(settings.quick ? 3 : 7)}`);
    console.log(`\n${await sandboxTable(settings.quick ? 5 : 50)}`);
  }
}

/** Summary lines. */
interface Rows {
  readonly plain: SideRow[];
  readonly costs: CostRow[];
}

/** What the measurements of all models share. */
interface Session {
  readonly peer: Peer;
  readonly cells: Cells;
  readonly rows: Rows;
}

async function measureModel(
  model: ModelName,
  settings: Settings,
  { peer, cells, rows }: Session,
): Promise<void> {
  const scenarios = settings.scenarios.filter((one) => one.models.includes(model));
  if (scenarios.length === 0) return;
  const modelPath = await ensureModel(model, peer);
  if (!settings.resume) {
    const bare = await bareDecodeSpeed(modelPath, settings, peer);
    console.log(
      `- ${model}: bare decode loop of one sequence (llama-bench tg128) ${bare.toFixed(1)} tokens/s`,
    );
  }
  for (const scenario of scenarios) {
    for (const streams of scenario.streams ?? settings.streams) {
      const task = { ...settings, model, modelPath, scenario, streams };
      if (scenario.cost === undefined)
        rows.plain.push(...(await cells.measured(task, settings.resume, () => measureRows(task, peer))));
      else rows.costs.push(await measureCost(task, scenario.cost, peer)); // two figures a cell: not resumed
    }
  }
}

function printRows({ plain, costs }: Rows, settings: Settings): void {
  const [left, right, ...more] = settings.sides;
  const bySide = [right, ...more].map((side) => ({
    side,
    rows: plain.filter(({ sides }) => sides[1] === side).map(({ row }) => row),
  }));
  for (const { side, rows } of bySide) if (rows.length > 0) console.log(`\n${table(rows, left, side)}`);
  if (costs.length > 0) console.log(`\n${costTable(costs, left, right)}`);
  console.log("");
  for (const scenario of settings.scenarios) console.log(`- ${scenario.name}: ${scenario.about}`);
  console.log(
    `- medians of ${settings.pairs} interleaved rounds${settings.quick ? "; quick run, not for quoting" : ""}`,
  );
  for (const { side, rows } of bySide)
    for (const remark of remarks(rows, left, side)) console.log(`- NOTE ${remark}`);
  for (const remark of remarks(plainRows(costs), left, right)) console.log(`- NOTE ${remark}`);
}

/** Parses the command line. Throws an error with the accepted values. */
function settingsFrom(argv: readonly string[]): Settings {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      models: { type: "string", default: USUAL_MODELS.join(",") },
      scenarios: { type: "string", default: USUAL_SCENARIOS.join(",") },
      streams: { type: "string", default: "1,8,32" },
      pairs: { type: "string" },
      threads: { type: "string", default: String(THREADS) },
      long: { type: "string" },
      quick: { type: "boolean", default: false },
      sides: { type: "string", default: SIDES.join(",") },
      peer: { type: "string", multiple: true, default: [] },
      resume: { type: "boolean", default: false },
      "no-startup": { type: "boolean", default: false },
    },
  });
  const scenarios = chosen("--scenarios", values.scenarios, SCENARIO_NAMES);
  const others = new Map(values.peer.map(peerFrom));
  const [left, right, ...more] = chosen("--sides", values.sides, [...SIDES, ...others.keys()]);
  if (left === undefined || right === undefined) throw new Error("--sides requires two values or more");
  return {
    models: chosen("--models", values.models, MODELS),
    scenarios: SCENARIOS.filter((scenario) => scenarios.includes(scenario.name)),
    streams: values.streams.split(",").map((word) => count("--streams", word)),
    pairs: count("--pairs", values.pairs ?? (values.quick ? "1" : "3")),
    threads: count("--threads", values.threads),
    longTokens: count("--long", values.long ?? (values.quick ? "2048" : "16384"), LONG_MAX),
    quick: values.quick,
    sides: [left, right, ...more],
    others,
    resume: values.resume,
    startup: !values["no-startup"],
  };
}

/** NAME=COMMAND, see commandOf in servers.ts for its placeholders. */
function peerFrom(text: string): readonly [name: string, command: string] {
  const [, name, command] = /^([\w.-]+)=(.*\S.*)$/s.exec(text) ?? [];
  if (name === undefined || command === undefined)
    throw new Error(`--peer: "${text}" must be NAME=COMMAND, with {model} and {port} in the command`);
  return [name, command];
}

function chosen<Name extends string>(flag: string, text: string, known: readonly Name[]): Name[] {
  return text.split(",").map((word) => {
    const name = known.find((one) => one === word);
    if (name === undefined) throw new Error(`${flag}: "${word}" must be one of ${known.join(", ")}`);
    return name;
  });
}

function count(flag: string, word: string, max = 256): number {
  const value = Number(word);
  if (!Number.isInteger(value) || value < 1 || value > max)
    throw new Error(`${flag}: "${word}" must be 1 to ${max}`);
  return value;
}

function settingsOrExit(argv: readonly string[]): Settings {
  try {
    return settingsFrom(argv);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(2);
  }
}

await main(settingsOrExit(process.argv.slice(2)));
