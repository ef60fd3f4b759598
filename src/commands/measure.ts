// `svc bench` and `svc tune`: measurements with an engine of their own.

import { type BenchedModel, benchModel, type MeasureOptions, tuneModel } from "../app/measure.ts";
import { type BenchArgs, EXIT } from "../cli/invocation.ts";
import { benchReport, benchTable, tuneTable } from "../cli/measure-table.ts";
import type { Loaded } from "../config/resolve.ts";
import type { TuneProfile } from "../core/measure.ts";
import { type CommandHost, failed, showsInPlace, stoppable } from "./host.ts";

/** Time between two lines of progress, milliseconds. */
const TICK_MS = 1000;

/** What is measured, and since when: one line on a terminal, which goes on counting; elsewhere a line a step. */
class StepLine {
  private readonly startMs = performance.now();
  private words = "loading the model";
  private readonly timer = setInterval(() => this.draw(), TICK_MS);

  private readonly isInPlace: boolean;

  constructor(isInPlace: boolean) {
    this.isInPlace = isInPlace;
  }

  readonly onStep = (words: string): void => {
    this.words = words;
    if (this.isInPlace) this.draw();
    else process.stderr.write(`${words} …\n`);
  };

  /** Writes a result on lines of its own. */
  print(text: string): void {
    this.clear();
    process.stdout.write(text);
  }

  end(): void {
    clearInterval(this.timer);
    this.clear();
  }

  private draw(): void {
    const secs = Math.round((performance.now() - this.startMs) / 1000);
    if (this.isInPlace) process.stderr.write(`\r\u001b[K${this.words} … (${secs} s)`);
  }

  private clear(): void {
    if (this.isInPlace) process.stderr.write("\r\u001b[K");
  }
}

/** Runs a measurement until it is done or stopped, and shows its steps. */
async function measuring(
  host: CommandHost,
  work: (options: MeasureOptions, line: StepLine) => Promise<void>,
): Promise<number> {
  const signal = stoppable(host, "it was stopped");
  const line = new StepLine(showsInPlace(host.environment));
  try {
    await work({ signal, onStep: line.onStep }, line);
    return EXIT.ok;
  } catch (error) {
    return failed(host, error);
  } finally {
    line.end();
  }
}

/** Measures how fast models are. */
export function runBench(loaded: Loaded, { json, ...plan }: BenchArgs, host: CommandHost): Promise<number> {
  return measuring(host, async (options, line) => {
    const benched: BenchedModel[] = [];
    for (const model of loaded.settings.models) {
      const result = await benchModel(model, host.options, plan, options);
      benched.push(result);
      if (!json) line.print(benchTable(result));
    }
    if (json) line.print(`${JSON.stringify(benchReport(benched), null, 2)}\n`);
  });
}

/** Tries settings with the first model and recommends the best. */
export function runTune(
  loaded: Loaded,
  { profile, json }: { readonly profile: TuneProfile; readonly json: boolean },
  host: CommandHost,
): Promise<number> {
  return measuring(host, async (options, line) => {
    const [model] = loaded.settings.models;
    if (model === undefined) throw new Error("there is no model");
    const report = await tuneModel(model, host.options, profile, { ...options, isBusy: () => false });
    line.print(json ? `${JSON.stringify(report, null, 2)}\n` : tuneTable(report));
  });
}
