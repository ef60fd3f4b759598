// What the server does just now, as curves.

import { useState } from "preact/hooks";
import { isAbsent, messageOf, send } from "../api/client.ts";
import { parseExposition } from "../api/exposition.ts";
import { ChartView } from "./chart-view.tsx";
import { CHARTS, type Look } from "./metrics-series.ts";
import { PageFrame } from "./page-frame.tsx";
import { Problem } from "./problem.tsx";
import { usePolling } from "./use-polling.ts";

/** How often the metrics are read, milliseconds, and how many points the curves have: five minutes. */
const POLL_MS = 2000;
const POINTS_MAX = 150;

/** The page goes on where it was when one comes back to it. */
let looks: readonly Look[] = [];

export function MetricsPage() {
  const [shown, setShown] = useState(looks);
  const [problem, setProblem] = useState<string>();
  usePolling(async () => {
    try {
      const text = await (await send("metrics")).text();
      looks = [...looks, { at: Date.now() / 1000, metrics: parseExposition(text) }].slice(-POINTS_MAX - 1);
      setProblem(undefined);
      setShown(looks);
    } catch (error) {
      setProblem(
        isAbsent(error) ? "This server has no metrics, or has them switched off." : messageOf(error),
      );
    }
  }, POLL_MS);
  return (
    <PageFrame label="Metrics" isWide>
      {problem !== undefined && <Problem text={problem} />}
      {problem === undefined && shown.length < 2 && <p class="faint">The first points are on their way…</p>}
      {shown.length >= 2 && (
        <div class="charts">
          {CHARTS.map((chart) => (
            <ChartView key={chart.title} chart={chart} looks={shown} />
          ))}
        </div>
      )}
    </PageFrame>
  );
}
