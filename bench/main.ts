// `bun run bench`: compares svc and llama-server, one at a time, in interleaved pairs, with the same model files and client.
// Prints Markdown on stdout, progress on stderr. README.md explains the output.

import { join } from "node:path";
import { parseArgs } from "node:util";
import { machineLine, THREADS } from "./machine.ts";
import { bareDecodeSpeed, measureCost, measureRow } from "./measure.ts";
import { ensureModel, MODELS, type ModelName } from "./model.ts";
import { CACHE, ensurePeer, type Peer } from "./peer.ts";
import { killRunning } from "./processes.ts";
import { type CostRow, costTable, plainRows, remarks, table, type Row } from "./report.ts";
import { sandboxTable } from "./sandbox.ts";
import { SCENARIOS, type Scenario } from "./scenarios.ts";
import { SIDES, type Side } from "./servers.ts";
import { startupTable } from "./startup.ts";

const SCENARIO_NAMES = SCENARIOS.map((scenario) => scenario.name);

/** Prompt and answer must fit the context of the nano model. */
const LONG_MAX = 28_000;

const USAGE = `usage: bun run bench [--models ${MODELS.join(",")}] [--scenarios ${SCENARIO_NAMES.join(",")}]
                     [--streams 1,8,32] [--pairs 3] [--threads N] [--long 16384] [--quick]
                     [--sides ${SIDES.join(",")}] [--no-startup]`;

interface Settings {
  readonly models: readonly ModelName[];
  readonly scenarios: readonly Scenario[];
  readonly streams: readonly number[];
  readonly pairs: number;
  readonly threads: number;
  /** Tokens of a `long` answer. */
  readonly longTokens: number;
  /** Smoke test: one pair, a quarter of the requests, an eighth of a long answer. Not for quoting. */
  readonly quick: boolean;
  /** The same side twice shows the noise of the machine. */
  readonly sides: readonly [Side, Side];
  readonly startup: boolean;
}

async function main(settings: Settings): Promise<void> {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      killRunning();
      process.exit(130);
    });
  }
  const peer = await ensurePeer();
  console.log(`${await machineLine(peer.release, settings.threads)}\n`);
  const rows: Rows = { plain: [], costs: [] };
  const path = join(CACHE, "results", `${new Date().toISOString().replaceAll(":", "-")}.json`);
  console.error(`bench: all measurements are written to ${path}`);
  for (const model of settings.models) {
    await measureModel(model, settings, peer, rows);
    // After each model, so that an interrupted run keeps its results.
    await Bun.write(path, JSON.stringify({ settings, rows: rows.plain, costs: rows.costs }));
  }
  printRows(rows, settings);
  if (settings.startup) {
    console.log(`\n${await startupTable(settings.quick ? 3 : 7)}`);
    console.log(`\n${await sandboxTable(settings.quick ? 5 : 50)}`);
  }
}

/** Summary lines. */
interface Rows {
  readonly plain: Row[];
  readonly costs: CostRow[];
}

async function measureModel(model: ModelName, settings: Settings, peer: Peer, rows: Rows): Promise<void> {
  const modelPath = await ensureModel(model, peer);
  const bare = await bareDecodeSpeed(modelPath, settings, peer);
  console.log(`- ${model}: bare decode loop of one sequence (llama-bench tg128) ${bare.toFixed(1)} tokens/s`);
  for (const scenario of settings.scenarios.filter((one) => one.models.includes(model))) {
    for (const streams of scenario.streams ?? settings.streams) {
      const task = { ...settings, model, modelPath, scenario, streams };
      if (scenario.cost === undefined) rows.plain.push(await measureRow(task, peer));
      else rows.costs.push(await measureCost(task, scenario.cost, peer));
    }
  }
}

function printRows({ plain, costs }: Rows, settings: Settings): void {
  const [left, right] = settings.sides;
  if (plain.length > 0) console.log(`\n${table(plain, left, right)}`);
  if (costs.length > 0) console.log(`\n${costTable(costs, left, right)}`);
  console.log("");
  for (const scenario of settings.scenarios) console.log(`- ${scenario.name}: ${scenario.about}`);
  console.log(
    `- medians of ${settings.pairs} interleaved pairs${settings.quick ? "; quick run, not for quoting" : ""}`,
  );
  for (const remark of remarks([...plain, ...plainRows(costs)], left, right)) console.log(`- NOTE ${remark}`);
}

/** Parses the command line. Throws an error with the accepted values. */
function settingsFrom(argv: readonly string[]): Settings {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      models: { type: "string", default: MODELS.join(",") },
      scenarios: { type: "string", default: SCENARIO_NAMES.join(",") },
      streams: { type: "string", default: "1,8,32" },
      pairs: { type: "string" },
      threads: { type: "string", default: String(THREADS) },
      long: { type: "string" },
      quick: { type: "boolean", default: false },
      sides: { type: "string", default: SIDES.join(",") },
      "no-startup": { type: "boolean", default: false },
    },
  });
  const scenarios = chosen("--scenarios", values.scenarios, SCENARIO_NAMES);
  const [left, right, ...more] = chosen("--sides", values.sides, SIDES);
  if (left === undefined || right === undefined || more.length > 0)
    throw new Error("--sides requires exactly two values");
  return {
    models: chosen("--models", values.models, MODELS),
    scenarios: SCENARIOS.filter((scenario) => scenarios.includes(scenario.name)),
    streams: values.streams.split(",").map((word) => count("--streams", word)),
    pairs: count("--pairs", values.pairs ?? (values.quick ? "1" : "3")),
    threads: count("--threads", values.threads),
    longTokens: count("--long", values.long ?? (values.quick ? "2048" : "16384"), LONG_MAX),
    quick: values.quick,
    sides: [left, right],
    startup: !values["no-startup"],
  };
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
