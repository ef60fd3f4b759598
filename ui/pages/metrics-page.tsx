// Metrics page: charts of the last minutes, hour or day.

import { useEffect, useState } from "preact/hooks";
import type { MetricsColumns } from "../../src/core/telemetry.ts";
import { isUnavailable, messageOf, send, sendIfAvailable } from "../api/client.ts";
import { parseExposition } from "../api/exposition.ts";
import { ChartView } from "./chart-view.tsx";
import { periods, scrapesOf, shownScrapes } from "./metrics-history.ts";
import { charts, type Scrape } from "./metrics-series.ts";
import { PageFrame } from "./page-frame.tsx";
import { Problem } from "./problem.tsx";
import { usePolling } from "./use-polling.ts";
import { t } from "../texts/texts.ts";

/** Scrape interval, milliseconds, and scrapes that are kept: ten minutes. */
const POLL_MS = 2000;
const POINTS_MAX = 300;

/** Kept outside the component, so that the charts survive a change of page. */
let scrapes: readonly Scrape[] = [];

export function MetricsPage() {
  const [since, setSince] = useState(scrapes);
  const [before, setBefore] = useState<readonly Scrape[]>([]);
  const [secs, setSecs] = useState<number>(periods()[0][1]);
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    sendIfAvailable<MetricsColumns>("ui/day/metrics").then(
      (columns) => setBefore(columns === undefined ? [] : scrapesOf(columns)),
      () => undefined, // the scrapes fail, too, and say why
    );
  }, [secs]);
  usePolling(async () => {
    try {
      const text = await (await send("metrics")).text();
      scrapes = [...scrapes, { at: Date.now() / 1000, metrics: parseExposition(text) }].slice(-POINTS_MAX);
      setProblem(undefined);
      setSince(scrapes);
    } catch (error) {
      setProblem(isUnavailable(error) ? t.metrics.unavailable : messageOf(error));
    }
  }, POLL_MS);
  const shown = shownScrapes(before, since, { now: Date.now() / 1000, secs });
  return (
    <PageFrame label={t.pages.metrics} isWide>
      {problem !== undefined && <Problem text={problem} />}
      {problem === undefined && (
        <label>
          {t.metrics.period}{" "}
          <select value={secs} onChange={({ currentTarget }) => setSecs(Number(currentTarget.value))}>
            {periods().map(([name, length]) => (
              <option key={length} value={length}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      {problem === undefined && shown.length < 2 && <p class="faint">{t.metrics.collecting}</p>}
      {shown.length >= 2 && (
        <div class="charts">
          {charts().map((chart) => (
            <ChartView key={chart.title} chart={chart} scrapes={shown} />
          ))}
        </div>
      )}
    </PageFrame>
  );
}
