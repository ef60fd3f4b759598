// Summaries of a server: those that conversations use, and those that are written beside an answer whose prompt comes near the bound, so
// that the next turn finds them. Work ahead goes after all other and ends where others want its place: then the turn that needs the
// summary writes it. Knows nothing of how a summary is written.

import { Recent } from "../core/recent.ts";
import { unlessAborted } from "../core/with-abort.ts";
import { type Cost, NO_COST } from "./cost.ts";
import { SUMMARIES_AHEAD_MAX, SUMMARIES_MAX } from "./limits.ts";

export interface Summary {
  readonly text: string;
  /** Tokens that writing it took, and that no answer has counted yet. */
  readonly cost: Cost;
}

/** A summary that was written ahead and is found by the turns that it stands for. */
export interface Found extends Summary {
  /** Number of its messages. */
  readonly count: number;
}

/** What writes one; undefined if the model wrote none. `displace` ends it where another request wants its place. */
export type Write = (displace: () => void, signal: AbortSignal) => Promise<Summary | undefined>;

interface Running {
  readonly written: Promise<Summary | undefined>;
  readonly abort: AbortController;
  /** A turn waits for it: it is no longer ahead. */
  isWanted: boolean;
}

/** Work that was begun ahead. */
export interface Begun {
  /** Ends it, unless a turn waits for it. */
  readonly cancel: () => void;
}

export class Summaries {
  /** By the turns that they stand for. */
  private readonly used = new Recent<string>(SUMMARIES_MAX);
  private readonly ahead = new Recent<Summary>(SUMMARIES_MAX);
  private readonly running = new Map<string, Running>();

  /** Summaries that are being written ahead. */
  get writing(): number {
    return this.running.size;
  }

  /** The summary of the most turns that a request has used. */
  latest(keys: readonly string[]): Found | undefined {
    const count = keys.findLastIndex((key) => this.used.find(key) !== undefined);
    const text = this.used.find(keys[count] ?? "");
    return text === undefined ? undefined : { count, text, cost: NO_COST };
  }

  use(key: string, text: string): void {
    this.used.set(key, text);
  }

  /** The summary of more than `after` turns that was written ahead, or is: then it is waited for. It counts as used. */
  async claim(keys: readonly string[], after: number, signal: AbortSignal): Promise<Found | undefined> {
    const isAhead = (key: string): boolean => this.ahead.find(key) !== undefined || this.running.has(key);
    const count = keys.findLastIndex(isAhead);
    const key = keys[count] ?? "";
    if (count <= after) return undefined;
    const running = this.running.get(key);
    if (running !== undefined) await this.waited(running, signal);
    const made = this.ahead.find(key);
    if (made === undefined) return undefined;
    this.ahead.delete(key);
    this.use(key, made.text);
    return { ...made, count };
  }

  /** Begins to write a summary, unless enough are being written, or one of these turns is. */
  begin(keys: readonly string[], count: number, write: Write): Begun | undefined {
    const key = keys[count] ?? "";
    const isBusy = this.running.size >= SUMMARIES_AHEAD_MAX || keys.some((one) => this.running.has(one));
    if (isBusy || this.ahead.find(key) !== undefined || this.used.find(key) !== undefined) return undefined;
    const abort = new AbortController();
    const cancel = (): void => {
      if (!running.isWanted) abort.abort();
    };
    const written = write(cancel, abort.signal)
      .catch(() => undefined) // the turn that needs it writes it, and learns why not
      .then((made) => {
        this.running.delete(key);
        if (made !== undefined && !abort.signal.aborted) this.ahead.set(key, made);
        return made;
      });
    const running: Running = { written, abort, isWanted: false };
    this.running.set(key, running);
    return { cancel };
  }

  private async waited(running: Running, signal: AbortSignal): Promise<void> {
    running.isWanted = true;
    try {
      await unlessAborted(signal, running.written);
    } catch (left) {
      running.abort.abort();
      throw left;
    }
  }
}
