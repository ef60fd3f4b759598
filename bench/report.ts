// Formats measurements as Markdown tables with remarks. Pure.

import type { LoadResult } from "./load.ts";
import type { TreeMemory } from "./processes.ts";
import type { CostFigure } from "./scenarios.ts";
import { median, pairRatio, type Ratio } from "./stats.ts";

/** One run of the load client against one server. */
export interface Measurement {
  readonly load: LoadResult;
  readonly memory: TreeMemory;
  /** CPU time of the server's processes. */
  readonly serverCpuSeconds: number;
  /** Share of the machine's CPU time used by processes other than server and client, 0 to 1. */
  readonly otherProcessesShare: number;
}

/** Above this CPU share of other processes a measurement is unreliable: two compute threads need two cores. */
export const OTHER_PROCESSES_SHARE_MAX = 0.05;

/** A row: measurements of two sides, paired by index. */
export interface Row {
  readonly model: string;
  readonly scenario: string;
  readonly streams: number;
  readonly left: readonly Measurement[];
  readonly right: readonly Measurement[];
}

/** One server's measurements of the same traffic with a feature and without. */
export type CostPair = readonly [dear: Measurement, plain: Measurement];

/** A row of the cost table. */
export interface CostRow {
  readonly model: string;
  readonly scenario: string;
  readonly streams: number;
  readonly figure: CostFigure;
  readonly left: readonly CostPair[];
  readonly right: readonly CostPair[];
}

const FIGURES: Readonly<Record<CostFigure, string>> = {
  tokensPerSecond: "tokens/s",
  itlEndMs: "ms per token at the end",
};

/**
 * Markdown table of feature costs: the scenario's figure, and CPU time per token, which depends less on other load. Ratios are
 * with / without, with the extremes of the pairs.
 */
export function costTable(rows: readonly CostRow[], leftName: string, rightName: string): string {
  const side = (name: string): string[] => [`${name} with / without`, "ratio (min..max)"];
  const header = ["model", "scenario", "streams", "figure", ...side(leftName), ...side(rightName)];
  const lines = rows.flatMap(({ model, scenario, streams, figure, left, right }) => {
    const line = (name: string, value: (one: Measurement) => number): string[] => {
      const costs = [left, right].flatMap((pairs) => {
        const dear = pairs.map(([one]) => value(one));
        const plain = pairs.map(([, one]) => value(one));
        return [medians([dear, plain]), ratio(pairRatio(dear, plain))];
      });
      return [model, scenario, String(streams), name, ...costs];
    };
    return [line(FIGURES[figure], ({ load }) => load[figure]), line("server CPU ms/token", cpuMsPerToken)];
  });
  return markdown(header, lines, 4);
}

/** Cost rows as pairs of sides, for remarks. */
export function plainRows(rows: readonly CostRow[]): Row[] {
  return rows.flatMap(({ model, scenario, streams, left, right }) =>
    ([0, 1] as const).map((which) => ({
      model,
      scenario: `${scenario} ${which === 0 ? "with" : "without"}`,
      streams,
      left: left.map((pair) => pair[which]),
      right: right.map((pair) => pair[which]),
    })),
  );
}

function markdown(header: readonly string[], lines: readonly (readonly string[])[], names: number): string {
  const rule = header.map((_, index) => (index < names ? "---" : "--:"));
  return [header, rule, ...lines].map((line) => `| ${line.join(" | ")} |`).join("\n");
}

/** Markdown table of medians. Ratios are left / right, with the extremes of the pairs. */
export function table(rows: readonly Row[], leftName: string, rightName: string): string {
  const sides = `${leftName} / ${rightName}`;
  const header = [
    "model",
    "scenario",
    "streams",
    `tokens/s ${sides}`,
    "ratio (min..max)",
    "prompt tokens/s",
    `TTFT p50 ms ${sides}`,
    "ratio (min..max)",
    "TTFT p95 ms",
    "ITL p50 ms",
    "ITL p95 ms",
    "server CPU ms/token",
    "RSS MiB",
  ];
  const lines = rows.map((row) => [row.model, row.scenario, String(row.streams), ...cells(row)]);
  return markdown(header, lines, 2);
}

function cells(row: Row): string[] {
  const both = (value: (one: Measurement) => number): [number[], number[]] => [
    row.left.map(value),
    row.right.map(value),
  ];
  const speeds = both((one) => one.load.tokensPerSecond);
  const firsts = both((one) => one.load.ttftP50Ms);
  return [
    medians(speeds),
    ratio(pairRatio(...speeds)),
    medians(both((one) => one.load.promptTokensPerSecond)),
    medians(firsts),
    ratio(pairRatio(...firsts)),
    medians(both((one) => one.load.ttftP95Ms)),
    medians(both((one) => one.load.itlP50Ms)),
    medians(both((one) => one.load.itlP95Ms)),
    medians(both(cpuMsPerToken)),
    medians(both((one) => one.memory.rssBytes / 2 ** 20)),
  ];
}

/** Includes prompts; warm-up counts in both terms because the server's CPU time cannot separate it. */
function cpuMsPerToken({ load, serverCpuSeconds }: Measurement): number {
  return (serverCpuSeconds * 1000) / (load.tokens + load.warmupTokens);
}

function medians([left, right]: readonly [readonly number[], readonly number[]]): string {
  return `${short(median(left))} / ${short(median(right))}`;
}

function ratio({ median: middle, min, max }: Ratio): string {
  return `**${middle.toFixed(2)}** (${min.toFixed(2)}..${max.toFixed(2)})`;
}

/** Three significant digits, no exponent. */
function short(value: number): string {
  if (!Number.isFinite(value)) return "-";
  return value >= 100 ? String(Math.round(value)) : value.toFixed(value >= 10 ? 1 : 2);
}

/** Remarks on unreliable rows: errors, retries, different answer lengths, other load. */
export function remarks(rows: readonly Row[], leftName: string, rightName: string): string[] {
  return rows.flatMap((row) => {
    const place = `${row.model}, ${row.scenario}, ${row.streams} streams`;
    const found = [
      ...troubles(row.left, `${place}, ${leftName}`),
      ...troubles(row.right, `${place}, ${rightName}`),
    ];
    const [left, right] = [row.left, row.right].map((side) =>
      side.reduce((sum, one) => sum + one.load.tokens, 0),
    );
    if (left !== right)
      found.push(`${place}: answers differ in length, ${left} tokens against ${right} in all`);
    return found;
  });
}

function troubles(side: readonly Measurement[], place: string): string[] {
  const errors = side.reduce((sum, one) => sum + one.load.errors, 0);
  const resets = side.reduce((sum, one) => sum + one.load.resets, 0);
  const otherProcesses = Math.max(...side.map((one) => one.otherProcessesShare));
  const percent = `${Math.round(otherProcesses * 100)} % of the machine`;
  return [
    ...(otherProcesses > OTHER_PROCESSES_SHARE_MAX
      ? [`${place}: other processes used up to ${percent}`]
      : []),
    ...(errors > 0 ? [`${place}: ${errors} failed requests`] : []),
    ...(resets > 0 ? [`${place}: ${resets} requests sent twice after a lost connection`] : []),
  ];
}
