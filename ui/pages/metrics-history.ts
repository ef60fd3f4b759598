// Samples of the metrics from before the page was opened. Pure.

import type { MetricsColumns } from "../../src/core/telemetry.ts";
import type { Scrape } from "./metrics-series.ts";
import { t } from "../texts/texts.ts";

/** Periods that the charts can show: their names and lengths in seconds. */
export const periods = () =>
  [
    [t.metrics.fiveMinutes, 300],
    [t.metrics.hour, 3600],
    [t.metrics.day, 86_400],
  ] as const;

/** Samples as the scrapes that the charts read. */
export function scrapesOf({ at, series }: MetricsColumns): readonly Scrape[] {
  const columns = Object.entries(series).map(([key, values]) => {
    const { name = key, le } = /^(?<name>[^{]+)\{le="(?<le>.*)"\}$/.exec(key)?.groups ?? {};
    return { name, labels: le === undefined ? {} : { le }, values };
  });
  return at.map((time, i) => {
    const metrics = new Map<string, { readonly labels: Record<string, string>; readonly value: number }[]>();
    for (const { name, labels, values } of columns) {
      const value = values[i] ?? null;
      if (value !== null) metrics.set(name, [...(metrics.get(name) ?? []), { labels, value }]);
    }
    return { at: time, metrics };
  });
}

/** The scrapes of a period, before and since the page was opened. */
export function shownScrapes(
  before: readonly Scrape[],
  since: readonly Scrape[],
  { now, secs }: { readonly now: number; readonly secs: number },
): readonly Scrape[] {
  const first = since[0]?.at ?? Infinity;
  return [...before.filter(({ at }) => at < first), ...since].filter(({ at }) => at >= now - secs);
}
