// Progress bars of long work, on a terminal.

import { Format, Presets, SingleBar } from "cli-progress";
import { type ProgressMeter } from "../hub/progress.ts";
import { sizeText } from "../core/size-text.ts";

/** Progress bar on stderr, shown from the first update. `size` words the total. */
export function progressBar(name: string, size: (total: number) => string = sizeText): ProgressMeter {
  const bar = new SingleBar(
    {
      format: (options, params, payload: { done: string; total: string }) => {
        const percent = Math.floor(params.progress * 100);
        const eta = Format.TimeFormat(params.eta, options, 1);
        return `${name} ${Format.BarFormat(params.progress, options)} ${percent} % of ${payload.total}, ${eta} left`;
      },
      stream: process.stderr,
      etaBuffer: 100,
      hideCursor: true,
      clearOnComplete: false,
      barsize: 30,
    },
    Presets.shades_classic,
  );
  let isShown = false;
  return {
    update: ({ doneBytes, totalBytes }) => {
      if (!isShown) bar.start(totalBytes, doneBytes, { total: size(totalBytes) });
      else bar.update(doneBytes);
      isShown = true;
    },
    stop: () => {
      if (isShown) bar.stop();
    },
  };
}

/** Loads shorter than this show no bar, milliseconds. */
const BAR_AFTER_MS = 1000;

/** Progress bar of a model's load on stderr, parts per thousand; removed at the end. */
export function loadBar(name: string): (permille: number) => void {
  const sinceMs = performance.now();
  const bar = new SingleBar(
    {
      format: `Loading ${name} {bar} {percentage} %, {eta_formatted} left`,
      stream: process.stderr,
      hideCursor: true,
      clearOnComplete: true,
      barsize: 30,
    },
    Presets.shades_classic,
  );
  let isShown = false;
  return (permille) => {
    if (permille >= 1000) {
      if (isShown) bar.stop();
      isShown = false;
    } else if (isShown) {
      bar.update(permille);
    } else if (performance.now() - sinceMs > BAR_AFTER_MS) {
      bar.start(1000, permille);
      isShown = true;
    }
  };
}
