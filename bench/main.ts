// `bun run bench`: svc and llama-server side by side, one at a time, in interleaved pairs, on the same model files with the
// same client. Prints markdown on stdout, progress on stderr. README.md says how to read it.

import { join } from "node:path";
import { parseArgs } from "node:util";
import { machineLine } from "./machine.ts";
import { bareDecodeSpeed, measureRow } from "./measure.ts";
import { ensureModel, MODELS, type ModelName } from "./model.ts";
import { CACHE, ensurePeer, type Peer } from "./peer.ts";
import { killRunning } from "./processes.ts";
import { remarks, table, type Row } from "./report.ts";
import { sandboxTable } from "./sandbox.ts";
import { SCENARIOS, type Scenario } from "./scenarios.ts";
import { SIDES, type Side } from "./servers.ts";
import { startupTable } from "./startup.ts";

const SCENARIO_NAMES = SCENARIOS.map((scenario) => scenario.name);

const USAGE = `usage: bun run bench [--models ${MODELS.join(",")}] [--scenarios ${SCENARIO_NAMES.join(",")}]
                     [--streams 1,8,32] [--pairs 3] [--quick] [--sides ${SIDES.join(",")}] [--no-startup]`;

interface Settings {
  readonly models: readonly ModelName[];
  readonly scenarios: readonly Scenario[];
  readonly streams: readonly number[];
  readonly pairs: number;
  /** One pair and a quarter of the requests: to see that everything runs, not to quote. */
  readonly quick: boolean;
  /** The same side twice shows how much the machine alone makes a ratio vary. */
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
  console.log(`${await machineLine(peer.release)}\n`);
  const rows: Row[] = [];
  const path = join(CACHE, "results", `${new Date().toISOString().replaceAll(":", "-")}.json`);
  console.error(`bench: every single measurement goes to ${path}`);
  for (const model of settings.models) {
    rows.push(...(await measureModel(model, settings, peer)));
    // After each model, so that a run that is ended early has not been for nothing.
    await Bun.write(path, JSON.stringify({ settings, rows }));
  }
  printRows(rows, settings);
  if (settings.startup) {
    console.log(`\n${await startupTable(settings.quick ? 3 : 7)}`);
    console.log(`\n${await sandboxTable(settings.quick ? 5 : 50)}`);
  }
}

async function measureModel(model: ModelName, settings: Settings, peer: Peer): Promise<Row[]> {
  const modelPath = await ensureModel(model, peer);
  const bare = await bareDecodeSpeed(modelPath, settings.pairs, peer);
  console.log(`- ${model}: bare decode loop of one sequence (llama-bench tg128) ${bare.toFixed(1)} tokens/s`);
  const rows: Row[] = [];
  for (const scenario of settings.scenarios.filter((one) => one.models.includes(model))) {
    for (const streams of scenario.streams ?? settings.streams) {
      rows.push(await measureRow({ ...settings, model, modelPath, scenario, streams }, peer));
    }
  }
  return rows;
}

function printRows(rows: readonly Row[], settings: Settings): void {
  const [left, right] = settings.sides;
  console.log(`\n${table(rows, left, right)}\n`);
  for (const scenario of settings.scenarios) console.log(`- ${scenario.name}: ${scenario.about}`);
  console.log(
    `- medians of ${settings.pairs} interleaved pairs${settings.quick ? "; quick run, not for quoting" : ""}`,
  );
  for (const remark of remarks(rows, left, right)) console.log(`- NOTE ${remark}`);
}

/** Throws, with what would be accepted, on anything else than the usage says. */
function settingsFrom(argv: readonly string[]): Settings {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      models: { type: "string", default: MODELS.join(",") },
      scenarios: { type: "string", default: SCENARIO_NAMES.join(",") },
      streams: { type: "string", default: "1,8,32" },
      pairs: { type: "string" },
      quick: { type: "boolean", default: false },
      sides: { type: "string", default: SIDES.join(",") },
      "no-startup": { type: "boolean", default: false },
    },
  });
  const scenarios = chosen("--scenarios", values.scenarios, SCENARIO_NAMES);
  const [left, right, ...more] = chosen("--sides", values.sides, SIDES);
  if (left === undefined || right === undefined || more.length > 0)
    throw new Error("--sides wants exactly two");
  return {
    models: chosen("--models", values.models, MODELS),
    scenarios: SCENARIOS.filter((scenario) => scenarios.includes(scenario.name)),
    streams: values.streams.split(",").map((word) => count("--streams", word)),
    pairs: count("--pairs", values.pairs ?? (values.quick ? "1" : "3")),
    quick: values.quick,
    sides: [left, right],
    startup: !values["no-startup"],
  };
}

function chosen<Name extends string>(flag: string, text: string, known: readonly Name[]): Name[] {
  return text.split(",").map((word) => {
    const name = known.find((one) => one === word);
    if (name === undefined) throw new Error(`${flag}: "${word}" is none of ${known.join(", ")}`);
    return name;
  });
}

function count(flag: string, word: string): number {
  const value = Number(word);
  if (!Number.isInteger(value) || value < 1 || value > 256)
    throw new Error(`${flag}: "${word}" is not 1 to 256`);
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
