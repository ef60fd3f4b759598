// A bar on a terminal for what takes long.

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
