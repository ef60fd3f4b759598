// Metrics page: charts of the last five minutes.

import { useState } from "preact/hooks";
import { isUnavailable, messageOf, send } from "../api/client.ts";
import { parseExposition } from "../api/exposition.ts";
import { ChartView } from "./chart-view.tsx";
import { CHARTS, type Scrape } from "./metrics-series.ts";
import { PageFrame } from "./page-frame.tsx";
import { Problem } from "./problem.tsx";
import { usePolling } from "./use-polling.ts";

/** Scrape interval, milliseconds, and points per chart: five minutes. */
const POLL_MS = 2000;
const POINTS_MAX = 150;

/** Kept outside the component, so that the charts survive a change of page. */
let scrapes: readonly Scrape[] = [];

export function MetricsPage() {
  const [shown, setShown] = useState(scrapes);
  const [problem, setProblem] = useState<string>();
  usePolling(async () => {
    try {
      const text = await (await send("metrics")).text();
      scrapes = [...scrapes, { at: Date.now() / 1000, metrics: parseExposition(text) }].slice(
        -POINTS_MAX - 1,
      );
      setProblem(undefined);
      setShown(scrapes);
    } catch (error) {
      setProblem(
        isUnavailable(error) ? "Metrics are unavailable or disabled on this server." : messageOf(error),
      );
    }
  }, POLL_MS);
  return (
    <PageFrame label="Metrics" isWide>
      {problem !== undefined && <Problem text={problem} />}
      {problem === undefined && shown.length < 2 && <p class="faint">Collecting data…</p>}
      {shown.length >= 2 && (
        <div class="charts">
          {CHARTS.map((chart) => (
            <ChartView key={chart.title} chart={chart} scrapes={shown} />
          ))}
        </div>
      )}
    </PageFrame>
  );
}
