// Metrics whose numbers are kept elsewhere: they are read when the text is made. The metrics library's own counters
// take about 0.5 µs an observation, mostly for finding the labels again; ours are a Map and an addition.

import {
  Counter,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValueWithName,
  type Registry,
} from "prom-client";
import type { HistogramData } from "../core/histogram.ts";

export type Labels = Readonly<Record<string, string>>;

/** A value under its labels. */
export type Labeled<T> = readonly [labels: Labels, value: T];

/** A metric; `read` gives all its series. */
export interface ReadMetric<T> {
  readonly name: string;
  readonly help: string;
  /** Absent: none, and one series. */
  readonly labelNames?: readonly string[];
  readonly read: () => Iterable<Labeled<T>>;
}

/** One series without labels. */
export function single<T>(read: () => T): () => Iterable<Labeled<T>> {
  return () => [[{}, read()]];
}

export function addGauge(registry: Registry, { read, ...metric }: ReadMetric<number>): void {
  const gauge: Gauge = new Gauge({
    ...optionsOf(metric),
    collect: () => refill(gauge, read, (labels, value) => gauge.set(labels, value)),
  });
  registry.registerMetric(gauge);
}

/** No value of a series may ever fall. */
export function addCounter(registry: Registry, { read, ...metric }: ReadMetric<number>): void {
  const counter: Counter = new Counter({
    ...optionsOf(metric),
    collect: () => refill(counter, read, (labels, value) => counter.inc(labels, value)),
  });
  registry.registerMetric(counter);
}

function optionsOf({ name, help, labelNames = [] }: Omit<ReadMetric<number>, "read">) {
  return { name, help, labelNames, registers: [] };
}

function refill(
  metric: Gauge | Counter,
  read: ReadMetric<number>["read"],
  put: (...labeled: Labeled<number>) => void,
): void {
  metric.reset();
  for (const labeled of read()) put(...labeled);
}

export function addHistogram(
  registry: Registry,
  metric: ReadMetric<HistogramData>,
  bounds: readonly number[],
): void {
  registry.registerMetric(new ReadHistogram(metric, bounds));
}

type Shown = MetricObjectWithValues<MetricValueWithName<string>>;

class ReadHistogram extends Histogram {
  private readonly metric: ReadMetric<HistogramData>;
  private readonly bounds: readonly number[];
  private readonly empty: Histogram; // tells what every histogram tells besides its values

  constructor(metric: ReadMetric<HistogramData>, bounds: readonly number[]) {
    const { name, help } = metric;
    super({ name, help, registers: [] });
    this.metric = metric;
    this.bounds = bounds;
    this.empty = new Histogram({ name, help, registers: [] });
  }

  override async get(): Promise<Shown> {
    const values = [...this.metric.read()].flatMap(([labels, data]) => this.lines(labels, data));
    return { ...(await this.empty.get()), values };
  }

  /** Called by the registry for the text; missing in the library's types. */
  getForPromString(): Promise<Shown> {
    return this.get();
  }

  private lines(labels: Labels, { counts, sum }: HistogramData): readonly MetricValueWithName<string>[] {
    const { name } = this.metric;
    let total = 0;
    const buckets = counts.map((count, i) => {
      total += count;
      const le = this.bounds[i] ?? "+Inf";
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: total };
    });
    const rest = [
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: total },
    ];
    return [...buckets, ...rest];
  }
}
