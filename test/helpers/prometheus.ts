// Reads the text exposition format, twice: with an independent parser, and line by line for what promtool would check.

import { expect } from "bun:test";
import parsePrometheus from "parse-prometheus-text-format";
import { until } from "./until.ts";

/** One line of a scrape. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const SAMPLE = /^(?<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?<labels>.*)\})? (?<value>\S+)$/;
const LABEL = /(?<name>[a-zA-Z_]\w*)="(?<value>(?:[^"\\\n]|\\["\\n])*)"/g;

/** Samples by line; fails on any line that is not of the format. */
export function samples(text: string): readonly Sample[] {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.map((line) => {
    const groups = SAMPLE.exec(line)?.groups;
    expect(groups, line).toBeDefined();
    const labels = [...(groups?.["labels"] ?? "").matchAll(LABEL)].map((found) => [
      found.groups?.["name"] ?? "",
      found.groups?.["value"] ?? "",
    ]);
    return {
      name: groups?.["name"] ?? "",
      labels: Object.fromEntries(labels) as Record<string, string>,
      value: Number(groups?.["value"]),
    };
  });
}

/** The value of the one sample with this name and at least these labels; undefined when there is none. */
export function valueOf(
  text: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = samples(text).filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  expect(found.length, `${name} ${JSON.stringify(labels)}`).toBeLessThan(2);
  return found[0]?.value;
}

/** Waits until so many requests whose bodies have been read are in progress. They may wait for a model or an engine. */
export async function untilInFlight(
  url: string,
  count: number,
  path = "/v1/chat/completions",
  model = "svc-tiny",
): Promise<void> {
  await until(`${count} requests of ${path} in flight`, async () => {
    const text = await (await fetch(`${url}/metrics`)).text();
    return valueOf(text, "http_requests_in_flight", { path, model }) === count;
  });
}

/** Fails unless the text is a sound scrape. */
export function expectSound(text: string): void {
  expect(text).toEndWith("\n");
  const families = typesOf(text);
  for (const [name, type] of families) {
    expect(name.endsWith("_total"), `${name} is a ${type}`).toBe(type === "counter");
    expect(text.split(`# HELP ${name} `).length, `HELP of ${name}`).toBe(2);
  }
  const all = samples(text);
  const lines = all.map(
    ({ name, labels }) =>
      name + JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => a.localeCompare(b))),
  );
  expect(new Set(lines).size).toBe(lines.length);
  for (const sample of all) expect(Number.isFinite(sample.value), sample.name).toBe(true);
  for (const [name, type] of families) if (type === "histogram") expectHistogram(all, name);
  const names = parsePrometheus(text).map((family) => family.name);
  expect(names.sort()).toEqual([...families.keys()].sort());
}

/** Types by family; each family is declared once, before its samples. */
function typesOf(text: string): ReadonlyMap<string, string> {
  const types = new Map<string, string>();
  for (const line of text.split("\n")) {
    const declared = /^# TYPE (\S+) (\S+)$/.exec(line);
    if (declared !== null) {
      const [, name = "", type = ""] = declared;
      expect(types.has(name), `TYPE of ${name} comes once`).toBe(false);
      types.set(name, type);
    } else if (line !== "" && !line.startsWith("#")) {
      const name = /^[\w:]+/.exec(line)?.[0] ?? "";
      expect(types.has(name) || types.has(name.replace(/_(?:bucket|sum|count)$/, "")), line).toBe(true);
    }
  }
  return types;
}

/** Buckets grow, the last is +Inf and equals the count, and there is a sum. */
function expectHistogram(all: readonly Sample[], name: string): void {
  const series = new Map<string, Sample[]>();
  for (const sample of all.filter((one) => one.name === `${name}_bucket`)) {
    const { le: _, ...labels } = sample.labels;
    const key = JSON.stringify(labels);
    series.set(key, [...(series.get(key) ?? []), sample]);
  }
  for (const [key, buckets] of series) {
    const bounds = buckets.map(({ labels }) => (labels["le"] === "+Inf" ? Infinity : Number(labels["le"])));
    expect(bounds).toEqual(bounds.toSorted((a, b) => a - b));
    expect(bounds.at(-1)).toBe(Infinity);
    const counts = buckets.map(({ value }) => value);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    const rest = (suffix: string) =>
      all.filter((one) => one.name === name + suffix && JSON.stringify(one.labels) === key);
    expect(rest("_sum")).toHaveLength(1);
    expect(rest("_count").map(({ value }) => value)).toEqual(counts.slice(-1));
  }
}
