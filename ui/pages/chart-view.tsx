// One chart. The plot is a canvas, so the current values are also shown as text.

import uPlot from "uplot";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { formatNumber } from "../format.ts";
import { prefs } from "../state/prefs.ts";
import type { Chart, Scrape } from "./metrics-series.ts";
import { t } from "../texts/texts.ts";

const HEIGHT = 150;
/** CSS variables of the colours of the first, second and third line. */
const COLORS = ["--line-1", "--line-2", "--line-3"] as const;

interface ChartProps {
  readonly chart: Chart;
  /** At least two, in chronological order. */
  readonly scrapes: readonly Scrape[];
}

export function ChartView({ chart, scrapes }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const data = useMemo(() => points(chart, scrapes), [scrapes]);
  const { theme } = prefs.value;
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    plot.current = new uPlot(options(chart, element), data, element);
    const observer = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    observer.observe(element);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const recolor = (): void => plot.current?.redraw();
    scheme.addEventListener("change", recolor);
    return () => {
      observer.disconnect();
      scheme.removeEventListener("change", recolor);
      plot.current?.destroy();
    };
  }, [theme]);
  useEffect(() => plot.current?.setData(data), [data]);
  return (
    <figure class="chart">
      <figcaption>
        <h2>{chart.title}</h2>
        <ul>
          {chart.lines.map(({ name }, index) => {
            const value = data[index + 1]?.at(-1);
            return (
              <li>
                <span class={`swatch line-${index + 1}`} />
                {name} <strong>{value === null || value === undefined ? "–" : formatNumber(value)}</strong>
              </li>
            );
          })}
          {chart.unit !== "" && <li class="faint">{chart.unit}</li>}
        </ul>
      </figcaption>
      <div ref={box} aria-hidden="true" />
    </figure>
  );
}

/** Columns for uPlot: times, then one column per line. */
function points({ lines }: Chart, scrapes: readonly Scrape[]): uPlot.AlignedData {
  const pairs = scrapes.slice(1).map((after, index) => [scrapes[index] ?? after, after] as const);
  const columns = lines.map(({ read }) => pairs.map(([before, after]) => read(before, after)));
  return [pairs.map(([, { at }]) => at), ...columns];
}

function options({ lines }: Chart, element: HTMLElement): uPlot.Options {
  const color = (name: string) => () => getComputedStyle(element).getPropertyValue(name);
  const axis = {
    stroke: color("--faint"),
    grid: { stroke: color("--border"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 8, 0, 0],
    scales: { y: { range: (_, min, max) => [Math.min(0, min), max > 0 ? max * 1.1 : 1] } },
    axes: [
      { ...axis, font: "12px system-ui", size: 28, space: 80, values: (_, ticks) => ticks.map(clock) },
      { ...axis, font: "12px system-ui", size: 52, values: (_, ticks) => ticks.map(formatNumber) },
    ],
    series: [
      {},
      ...lines.map((_, index) => ({
        stroke: color(COLORS[index % COLORS.length] ?? COLORS[0]),
        width: 2,
        spanGaps: false,
        points: { show: false },
      })),
    ],
  };
}

function clock(unixSecs: number): string {
  return new Date(unixSecs * 1000).toLocaleTimeString(t.locale.dates);
}
