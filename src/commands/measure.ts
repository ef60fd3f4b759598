// `svc bench` and `svc tune`: measurements with an engine of their own.

import { type BenchedModel, benchModel, type MeasureOptions, tuneModel } from "../app/measure.ts";
import { type BenchArgs, EXIT } from "../cli/invocation.ts";
import { benchReport, benchTable, tuneTable } from "../cli/measure-table.ts";
import type { Loaded } from "../config/resolve.ts";
import type { TuneProfile } from "../core/measure.ts";
import { type CommandHost, failed, stoppable } from "./host.ts";

/** Runs a measurement until it is done or stopped; steps are shown on a terminal. */
async function measuring(
  host: CommandHost,
  work: (options: MeasureOptions) => Promise<void>,
): Promise<number> {
  const signal = stoppable(host, "it was stopped");
  const { stderr } = process;
  const startMs = performance.now();
  const onStep = (words: string): void => {
    const secs = Math.round((performance.now() - startMs) / 1000);
    if (stderr.isTTY) stderr.write(`\r\u001b[K${words} … (${secs} s)`);
  };
  try {
    await work({ signal, onStep });
    return EXIT.ok;
  } catch (error) {
    return failed(host, error);
  } finally {
    if (stderr.isTTY) stderr.write("\r\u001b[K");
  }
}

/** Measures how fast models are. */
export function runBench(loaded: Loaded, { json, ...plan }: BenchArgs, host: CommandHost): Promise<number> {
  return measuring(host, async (options) => {
    const benched: BenchedModel[] = [];
    for (const model of loaded.settings.models) {
      const result = await benchModel(model, host.options, plan, options);
      benched.push(result);
      if (!json) process.stdout.write(benchTable(result));
    }
    if (json) console.log(JSON.stringify(benchReport(benched), null, 2));
  });
}

/** Tries settings with the first model and recommends the best. */
export function runTune(
  loaded: Loaded,
  { profile, json }: { readonly profile: TuneProfile; readonly json: boolean },
  host: CommandHost,
): Promise<number> {
  return measuring(host, async (options) => {
    const [model] = loaded.settings.models;
    if (model === undefined) throw new Error("there is no model");
    const report = await tuneModel(model, host.options, profile, { ...options, isBusy: () => false });
    process.stdout.write(json ? `${JSON.stringify(report, null, 2)}\n` : tuneTable(report));
  });
}
