// Output of `svc backend`.

import { sizeText } from "../core/size-text.ts";

/** A back end as `svc backend list` shows it. */
export interface BackendRow {
  readonly name: string;
  /** Its package, or the own build that is installed. */
  readonly source: string;
  readonly isInstalled: boolean;
}

/** The table of `svc backend list`. */
export function backendTable(rows: readonly BackendRow[]): string {
  const width = Math.max(...rows.map(({ name }) => name.length));
  return rows
    .map(({ name, source, isInstalled }) =>
      [name.padEnd(width), isInstalled ? "installed    " : "not installed", source].join("  "),
    )
    .join("\n");
}

/** What a trial of a back end has shown. */
export interface TrialReport {
  readonly devices: readonly {
    readonly name: string;
    readonly description: string;
    readonly memory_total: number;
  }[];
  readonly answers: { readonly device: string; readonly cpu: string };
  readonly ms: { readonly device: number; readonly cpu: number };
}

/** The report of `svc backend install` and `svc backend test`. */
export function trialText({ devices, answers, ms }: TrialReport): string {
  const seconds = (time: number): string => `${(time / 1000).toFixed(1)} s`;
  const list = devices.map(
    ({ name, description, memory_total: memory }) => `  ${name}: ${description}, ${sizeText(memory)}`,
  );
  const same =
    answers.device === answers.cpu
      ? "The answers are equal"
      : `The answers differ ("${answers.device}", CPU "${answers.cpu}")`;
  const times = `${seconds(ms.device)} on the device with its first compilation of kernels, ${seconds(ms.cpu)} on the CPU`;
  return ["Devices:", ...list, `${same}: ${times}.`].join("\n");
}
