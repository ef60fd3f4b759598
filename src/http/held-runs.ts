// Answers of the web interface while they run and shortly afterwards, so that a reload, a lost connection or a second tab can
// join them. Owns their frames, readers and deadlines. Knows no dialect.
// A client that joins gets all frames from the first: the page would else have to store text and position together. A restart loses them.

import type { Caller } from "../core/caller.ts";
import { ServiceError } from "../core/error.ts";
import { FairShare } from "../core/fair-share.ts";
import { FrameLog, type FrameReader } from "../core/frame-log.ts";
import { type Holder, leastWorth } from "../core/least-worth.ts";
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
  private readonly places: FairShare;
  private bytes = 0;

  constructor(options: Partial<HeldRunsOptions> = {}) {
    this.options = { ...DEFAULTS, ...options };
    this.places = new FairShare(() => this.options.runsMax);
  }

  /** Holds a caller's run under an id that its page has chosen. Throws `invalid_request`, `run_exists`, `queue_full`. */
  open(id: string, { owner, client }: Caller): HeldRun {
    if (!ID.test(id)) {
      const message = "x-svc-run must have 16 to 64 letters, digits, - or _";
      throw new ServiceError("invalid_request", message, { param: "x-svc-run" });
    }
    if (this.runs.has(id)) {
      throw new ServiceError("run_exists", "x-svc-run: a run has this id already; choose another one");
    }
    if (!this.hasPlaceFor(client)) {
      throw new ServiceError("queue_full", "too many answers are running in the web interface; retry later");
    }
    const run = new HeldRun(
      { owner, client },
      {
        schedule: this.options.schedule,
        grew: (bytes) => this.grew(bytes),
        expired: () => this.forget(id),
      },
    );
    this.runs.set(id, run);
    return run;
  }

  /** A caller's run. Throws `run_not_found`. */
  find(id: string, { owner }: Caller): HeldRun {
    const run = this.runs.get(id);
    if (run !== undefined && run.owner === owner && run.isWhole) return run;
    const message =
      "no answer is held under this id: the server was restarted, the answer was fetched before, or it is too old";
    throw new ServiceError("run_not_found", message);
  }

  /**
   * Frees frames until they fit, those of the client with the most first: of its finished runs, else of its oldest running one, which
   * cannot be joined afterwards.
   */
  private grew(bytes: number): void {
    this.bytes += bytes;
    while (this.bytes > this.options.bytesMax) {
      const all = this.holders().filter(({ size = 0 }) => size > 0);
      const heaviest = leastWorth(all.map((one) => ({ ...one, isFixed: false })));
      const client = this.runs.get(heaviest ?? "")?.client;
      const id = leastWorth(all.filter((one) => one.client === client)) ?? heaviest ?? "";
      const run = this.runs.get(id);
      if (run === undefined) return;
      if (run.isEnded) this.forget(id);
      else this.bytes -= run.drop();
    }
  }

  /** Takes a place for a client's run: in the place of what others can do without, else beside all, else in that of its own last one. */
  private hasPlaceFor(client: string): boolean {
    if (this.runs.size >= this.options.runsMax) this.evictFor(client, false);
    if (this.places.take(client)) return true;
    this.evictFor(client, true);
    return this.places.take(client);
  }

  /** Forgets a finished run for a client's new one: one that was read, else of a client that holds more, or one of its own. */
  private evictFor(client: string, mayBeOwn: boolean): void {
    const holders = this.holders().map((one) => {
      const isKept = !mayBeOwn && one.client === client && one.isBrief !== true;
      return { ...one, size: 1, isFixed: one.isFixed === true || isKept };
    });
    const id = leastWorth([...holders, { item: "", client, isFixed: true }], client);
    if (id !== undefined) this.forget(id);
  }

  private holders(): readonly Holder<string>[] {
    return [...this.runs].map(([item, { client, isEnded, isRead, size }]) => {
      return { item, client, size, isBrief: isEnded && isRead, isFixed: !isEnded };
    });
  }

  private forget(id: string): void {
    const run = this.runs.get(id);
    if (run === undefined) return;
    this.bytes -= run.drop();
    this.places.release(run.client);
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
  /** Shares the places with others as one. */
  readonly client: string;
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

  constructor({ owner, client }: Pick<HeldRun, "owner" | "client">, around: Surroundings) {
    this.owner = owner;
    this.client = client;
    this.around = around;
  }

  get isEnded(): boolean {
    return this.ended;
  }

  /** Whether a reader got the last frame. */
  get isRead(): boolean {
    return this.read;
  }

  /** Bytes of its frames. */
  get size(): number {
    return this.bytes;
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
