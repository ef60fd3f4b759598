// Progress of long work as log lines. On a terminal, src/cli shows a bar instead.

import { DOWNLOAD_LOG_MS } from "./limits.ts";
import type { Progress } from "./fetch-model.ts";
import { sizeText } from "../core/size-text.ts";

/** Shows the progress of one download. */
export interface ProgressMeter {
  update(progress: Progress): void;
  /** The download has ended, successfully or not. */
  stop(): void;
}

/** Wording of progress lines. */
interface Wording {
  /** Default: downloading. */
  readonly verb?: string;
  /** Formats an amount; default: sizeText, with the speed. */
  readonly size?: (amount: number) => string;
}

/** Logs a line at intervals, with the time left. */
export class ProgressLog implements ProgressMeter {
  private readonly log: (line: string) => void;
  private readonly wording: Wording;
  private readonly now: () => number;
  private toldAt = -Infinity;
  private first: { readonly bytes: number; readonly at: number } | undefined;

  constructor(
    log: (line: string) => void,
    wording: Wording = {},
    now: () => number = () => performance.now(),
  ) {
    this.log = log;
    this.wording = wording;
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
    const { verb = "downloading", size = sizeText } = this.wording;
    const speed = perSec > 0 && size === sizeText ? ` at ${sizeText(perSec)}/s` : "";
    const left = perSec > 0 ? `, ${timeLeft((totalBytes - doneBytes) / perSec)} left` : "";
    this.log(`${verb}: ${percent} % of ${size(totalBytes)}${isDone ? "" : speed + left}`);
  }

  stop(): void {
    this.toldAt = -Infinity;
  }
}

/** `40 s`, `12 min`, `1 h 5 min`. */
function timeLeft(secs: number): string {
  if (secs < 90) return `${Math.ceil(secs)} s`;
  const minutes = Math.ceil(secs / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
