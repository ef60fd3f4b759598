// Bars on a terminal for what takes long.

import { Format, Presets, SingleBar } from "cli-progress";
import { megabytes, type ProgressMeter } from "../hub/progress.ts";

/** Draws the progress of one piece of work on stderr; the bar appears with its first part. `size` words the whole. */
export function progressBar(name: string, size: (total: number) => string = megabytes): ProgressMeter {
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

/** Loading that takes no longer than this shows no bar, milliseconds. */
const BAR_AFTER_MS = 1000;

/** Draws how far a model is loaded on stderr, parts per thousand; the bar goes when it is. */
export function loadBar(name: string): (permille: number) => void {
  const sinceMs = performance.now();
  const bar = new SingleBar(
    {
      format: `Loading ${name} {bar} {percentage} %`,
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
