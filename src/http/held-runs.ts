// Answers of the web interface while they run and shortly afterwards, so that a reload, a lost connection or a second tab can
// join them. Owns their frames, readers and deadlines. Knows no dialect.

import { currentCaller } from "../core/caller.ts";
import { ServiceError } from "../core/error.ts";
import { FrameLog, type FrameReader } from "../core/frame-log.ts";
import {
  HELD_RUN_BYTES_MAX,
  HELD_RUN_GRACE_MS,
  HELD_RUN_READ_MS,
  HELD_RUN_UNREAD_MS,
  HELD_RUNS_MAX,
} from "./limits.ts";
import type { FrameSource } from "./sse.ts";

/** Runs a function later; returns how to cancel it. */
export type Schedule = (run: () => void, ms: number) => () => void;

export interface HeldRunsOptions {
  readonly schedule: Schedule;
  readonly runsMax: number;
  /** Bytes of all frames. */
  readonly bytesMax: number;
}

/** The last frame of a run that was ended on request, or because no client read it. */
export const STOPPED_FRAME = "event: run_stopped\ndata: {}\n\n";

const ID = /^[\w-]{16,64}$/;

const DEFAULTS: HeldRunsOptions = {
  schedule: (run, ms) => {
    const timer = setTimeout(run, ms);
    timer.unref(); // a server that stops waits for none of them
    return () => clearTimeout(timer);
  },
  runsMax: HELD_RUNS_MAX,
  bytesMax: HELD_RUN_BYTES_MAX,
};

/** The held runs of a server. */
export class HeldRuns {
  private readonly options: HeldRunsOptions;
  private readonly runs = new Map<string, HeldRun>(); // oldest first
  private bytes = 0;

  constructor(options: Partial<HeldRunsOptions> = {}) {
    this.options = { ...DEFAULTS, ...options };
  }

  /** Holds a run of the current caller under an id that its page has chosen. Throws `invalid_request`, `run_exists`, `queue_full`. */
  open(id: string): HeldRun {
    if (!ID.test(id)) {
      const message = "x-svc-run must have 16 to 64 letters, digits, - or _";
      throw new ServiceError("invalid_request", message, { param: "x-svc-run" });
    }
    if (this.runs.has(id)) {
      throw new ServiceError("run_exists", "x-svc-run: a run has this id already; choose another one");
    }
    if (this.runs.size >= this.options.runsMax && !this.evict()) {
      throw new ServiceError("queue_full", "too many answers are running in the web interface; retry later");
    }
    const run = new HeldRun(currentCaller()?.owner, {
      schedule: this.options.schedule,
      grew: (bytes) => this.grew(run, bytes),
      expired: () => this.forget(id),
    });
    this.runs.set(id, run);
    return run;
  }

  /** The current caller's run. Throws `run_not_found`. */
  find(id: string): HeldRun {
    const run = this.runs.get(id);
    if (run !== undefined && run.owner === currentCaller()?.owner && run.isWhole) return run;
    const message =
      "no answer is held under this id: the server was restarted, the answer was fetched before, or it is too old";
    throw new ServiceError("run_not_found", message);
  }

  /** Frees finished runs until the frames fit, then those of the run that grows, which cannot be joined afterwards. */
  private grew(run: HeldRun, bytes: number): void {
    this.bytes += bytes;
    while (this.bytes > this.options.bytesMax && this.evict());
    if (this.bytes > this.options.bytesMax) this.bytes -= run.drop();
  }

  /** Forgets the finished run that is the least useful: a read one before an unread one, then the oldest. */
  private evict(): boolean {
    const finished = [...this.runs].filter(([, run]) => run.isEnded);
    const [id] = finished.find(([, run]) => run.isRead) ?? finished[0] ?? [];
    if (id !== undefined) this.forget(id);
    return id !== undefined;
  }

  private forget(id: string): void {
    const run = this.runs.get(id);
    if (run !== undefined) this.bytes -= run.drop();
    this.runs.delete(id);
  }
}

interface Surroundings {
  readonly schedule: Schedule;
  readonly grew: (bytes: number) => void;
  readonly expired: () => void;
}

/** One run with its frames. */
export class HeldRun {
  /** The API key's owner of the request; absent if no keys are required. */
  readonly owner: string | undefined;
  /** Ends the run. */
  readonly abort = new AbortController();
  private readonly log = new FrameLog();
  private readonly around: Surroundings;
  private readers = 0;
  private frames = 0;
  private bytes = 0;
  private ended = false;
  private read = false;
  private cancelTimer: () => void = () => undefined;

  constructor(owner: string | undefined, around: Surroundings) {
    this.owner = owner;
    this.around = around;
  }

  get isEnded(): boolean {
    return this.ended;
  }

  /** Whether a reader got the last frame. */
  get isRead(): boolean {
    return this.read;
  }

  get isWhole(): boolean {
    return this.log.isWhole;
  }

  /** Takes the frames of a source to its end, whether clients read them or not. Never rejects. */
  async fill(source: FrameSource, failed: (thrown: unknown) => string): Promise<void> {
    try {
      for (let frame = await source.next(); frame !== undefined; frame = await source.next()) this.add(frame);
      if (this.abort.signal.aborted) this.add(STOPPED_FRAME);
    } catch (thrown) {
      this.abort.abort();
      this.add(failed(thrown));
    }
    this.end();
    await source.close();
  }

  /** Ends a run that was refused, with the frame that says why. */
  fail(frame: string): void {
    this.add(frame);
    this.end();
  }

  /** All frames, past and future. A run that has no reader for the grace period is ended. */
  reader(): FrameSource {
    const reader = this.log.reader(-1);
    let isOpen = true;
    this.readers++;
    this.watch();
    return {
      next: () => this.readNext(reader),
      close: async () => {
        if (!isOpen) return;
        isOpen = false;
        this.readers--;
        this.watch();
        await reader.close();
      },
    };
  }

  /** Frees the frames; returns their bytes. */
  drop(): number {
    const { bytes } = this;
    this.bytes = 0;
    this.log.drop();
    return bytes;
  }

  private async readNext(reader: FrameReader): Promise<string | undefined> {
    const frame = await reader.next();
    if (frame === undefined && this.ended) this.read = true;
    return frame;
  }

  private add(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.around.grew(bytes); // first: it may free what was sent before
    this.bytes += bytes;
    this.log.add([{ sequence: this.frames++, text }]);
  }

  private end(): void {
    this.ended = true;
    this.log.end();
    this.watch();
  }

  /** Sets the deadline that fits the present state. */
  private watch(): void {
    this.cancelTimer();
    const { schedule, expired } = this.around;
    if (this.readers > 0) this.cancelTimer = () => undefined;
    else if (!this.ended) this.cancelTimer = schedule(() => this.abort.abort(), HELD_RUN_GRACE_MS);
    else this.cancelTimer = schedule(expired, this.read ? HELD_RUN_READ_MS : HELD_RUN_UNREAD_MS);
  }
}
