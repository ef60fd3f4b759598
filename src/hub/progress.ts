// Tells how far a download is. On a terminal src/cli draws a bar instead.

import { DOWNLOAD_LOG_MS } from "./limits.ts";
import type { Progress } from "./fetch-model.ts";

/** Shows the progress of one download. */
export interface ProgressMeter {
  update(progress: Progress): void;
  /** The download has ended, well or not. */
  stop(): void;
}

/** Writes a line now and then. */
export class ProgressLog implements ProgressMeter {
  private readonly log: (line: string) => void;
  private readonly now: () => number;
  private toldAt = -Infinity;
  private first: { readonly bytes: number; readonly at: number } | undefined;

  constructor(log: (line: string) => void, now: () => number = () => performance.now()) {
    this.log = log;
    this.now = now;
  }

  update({ doneBytes, totalBytes }: Progress): void {
    const at = this.now();
    this.first ??= { bytes: doneBytes, at };
    const isDone = doneBytes >= totalBytes;
    if (!isDone && at - this.toldAt < DOWNLOAD_LOG_MS) return;
    this.toldAt = at;
    const percent = totalBytes === 0 ? 100 : Math.floor((doneBytes / totalBytes) * 100);
    const perSec = ((doneBytes - this.first.bytes) / Math.max(1, at - this.first.at)) * 1000;
    const speed = perSec > 0 ? ` at ${megabytes(perSec)}/s` : "";
    this.log(`downloading: ${percent} % of ${megabytes(totalBytes)}${isDone ? "" : speed}`);
  }

  stop(): void {
    this.toldAt = -Infinity;
  }
}

/** `12.3 MB`. */
export function megabytes(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(2)} GB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
