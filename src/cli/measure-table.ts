// What `svc bench` and `svc tune` print.

import type { BenchRow, MachineSpeed, Rate, RooflineLimit, TuneReport } from "../core/measure.ts";
import { profileOf, profilePhrase } from "../core/device-profile.ts";
import { type ModelPlacement, placementPhrase } from "../core/placement.ts";
import { VERSION } from "../core/version.ts";
import { columns } from "./table.ts";

/** A measured model. */
interface BenchedModel {
  readonly model: string;
  readonly info: {
    readonly description: string;
    readonly sizeBytes: number;
    readonly threads: number;
    readonly cells: number;
    readonly placement?: ModelPlacement;
  };
  readonly rows: readonly BenchRow[];
}

/** A model and the lines of its bench, as a table. */
export function benchTable({ model, info, rows }: BenchedModel): string {
  const size = (info.sizeBytes / 1e6).toFixed(1);
  const threads = info.threads === 1 ? "1 thread" : `${info.threads} threads`;
  const { placement } = info;
  const place =
    placement === undefined ? "" : `, ${placementPhrase(placement)} (${profilePhrase(profileOf(placement))})`;
  const title = `${model}: ${info.description}, ${size} MB, ${threads}${place}`;
  const machines = rows.flatMap(({ machine }) => (machine === undefined ? [] : [machine]));
  const limits = machines.length === 0 ? [] : ["limit", "of it", "by"];
  const head = ["test", "tokens", "depth", "at once", "tokens/s", ...limits];
  const lines = rows.map(
    ({ test, tokens, depth, concurrency, steady, tokens_per_second: speed, roofline }) => [
      test,
      String(tokens),
      String(depth),
      String(concurrency),
      rateText(speed) + (steady ? "" : " ?"),
      ...(roofline === undefined ? [] : limitWords(roofline)),
    ],
  );
  const note = rows.every(({ steady }) => steady) ? "" : `\n${TOO_BUSY}\n`;
  const speed = machines.length === 0 ? "" : `\n${machineLine(machines)}\n`;
  return `${title}\n\n${columns([head, ...lines], isNumber)}${note}${speed}\n`;
}

function limitWords({ tokens_per_second: limit, share, by }: RooflineLimit): readonly string[] {
  return [limit.toFixed(2), `${(share * 100).toFixed(0)} %`, by];
}

function machineLine(list: readonly MachineSpeed[]): string {
  const bytes = rangeText(list.map((one) => one.bytes_per_second / 1e9));
  const products = rangeText(list.map((one) => one.products_per_second / 1e9));
  return (
    `limit: beside each row, memory gave ${bytes} GB/s, and cores ${products} billion multiply-adds/s ` +
    "in products with weights of the model's main type."
  );
}

function rangeText(values: readonly number[]): string {
  const ends = [Math.min(...values), Math.max(...values)].map((value) => value.toPrecision(3));
  return [...new Set(ends)].join(" to ");
}

/** The same as plain data: what `--json` prints. */
export function benchReport(models: readonly BenchedModel[]) {
  return {
    version: VERSION,
    models: models.map(({ model, info, rows }) => ({
      model,
      description: info.description,
      size_bytes: info.sizeBytes,
      threads: info.threads,
      kv_cells: info.cells,
      placement: info.placement ?? null,
      rows,
    })),
  };
}

/** Measurements and the recommendation. */
export function tuneTable({
  model_id: id,
  profile,
  measurements,
  recommended,
  toml,
  undecided,
  complete,
  disturbed,
}: TuneReport): string {
  const head = ["setting", "value", "prompt tokens/s", "answer tokens/s"];
  const lines = measurements.map((row) => [
    row.setting,
    String(row.value),
    rateText(row.prompt_tokens_per_second),
    rateText(row.answer_tokens_per_second),
  ]);
  const notes = [
    ...(undecided.length === 0
      ? []
      : [`The machine is too busy to measure ${undecided.join(", ")}: stop other programs and tune again.`]),
    ...(complete ? [] : ["The time limit ended the measurements early."]),
    ...(disturbed ? ["Other requests ran during the measurements: the numbers are too low."] : []),
  ];
  const remarks = notes.map((note) => `${note}\n`).join("");
  return `${id}, profile ${profile}\n\n${columns([head, ...lines], isNumber)}${remarks}\n${undecided.length === Object.keys(recommended).length ? "No recommendation.\n" : `Recommended:\n\n${toml}`}`;
}

const TOO_BUSY =
  "? The machine is too busy: repeated runs still differ by more than 5 %.\n" +
  "  Stop other programs and measure again.";

const isNumber = (column: number): boolean => column > 0;

function rateText(rate: Rate | null): string {
  return rate === null ? "" : `${rate.mean.toFixed(2)} ± ${rate.sd.toFixed(2)}`;
}
