// Flags of `svc bench` and `svc tune`.

import { type Command, InvalidArgumentError, Option } from "commander";
import { TUNE_PROFILES, type TuneProfile } from "../core/measure.ts";
import { type Choose, configFile } from "./invocation.ts";
import { flagsOf, MEASURING, withSettings } from "./setting-flags.ts";

/** Adds `svc bench` and `svc tune`. */
export function addMeasuringCommands(program: Command, choose: Choose): void {
  const fileText = "TOML file with settings";
  const list = (min: number) => (text: string) => text.split(",").map((word) => wholeNumber(word, min));
  const bench = program
    .command("bench")
    .description("Measure prefill and decode speed of a model.")
    .argument("[config]", fileText)
    .option("--prompt-len <list>", "tokens of a prompt (0: do not measure)", list(0), [512])
    .option("--gen-len <list>", "tokens of an answer (0: do not measure)", list(0), [128])
    .option("--depth <list>", "tokens already in the KV cache", list(0), [0])
    .option("--concurrency <list>", "concurrent sequences", list(1), [1])
    .option("--repetitions <n>", "runs of each measurement", (text) => wholeNumber(text, 1), 5)
    .option("--roofline", "compare with what memory and cores allow (models on the CPU)", false)
    .option("--json", "print JSON", false);
  withSettings(bench, undefined, MEASURING).action((file: string | undefined, chosen: BenchOptions) =>
    choose({
      command: "bench",
      ...configFile(file),
      promptLens: chosen.promptLen,
      genLens: chosen.genLen,
      depths: chosen.depth,
      concurrencies: chosen.concurrency,
      repetitions: chosen.repetitions,
      roofline: chosen.roofline,
      json: chosen.json,
      flags: flagsOf(bench),
    }),
  );

  const tune = program
    .command("tune")
    .description("Measure settings of a model and recommend the best.")
    .argument("[config]", fileText)
    .addOption(
      new Option("--profile <word>", "quality: each answer fast; fast: most tokens in total")
        .choices(TUNE_PROFILES)
        .default("balanced"),
    )
    .option("--json", "print JSON", false);
  withSettings(tune, undefined, MEASURING).action(
    (file: string | undefined, { profile, json }: TuneOptions) =>
      choose({ command: "tune", ...configFile(file), profile, json, flags: flagsOf(tune) }),
  );
}

interface BenchOptions {
  readonly promptLen: readonly number[];
  readonly genLen: readonly number[];
  readonly depth: readonly number[];
  readonly concurrency: readonly number[];
  readonly repetitions: number;
  readonly roofline: boolean;
  readonly json: boolean;
}

interface TuneOptions {
  readonly profile: TuneProfile;
  readonly json: boolean;
}

/** Maximum of a number; no sequence is longer. */
const NUMBER_MAX = 1_000_000;

function wholeNumber(text: string, min: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text.trim()) && value >= min && value <= NUMBER_MAX) return value;
  throw new InvalidArgumentError(`must be whole numbers from ${min} to ${NUMBER_MAX}.`);
}
