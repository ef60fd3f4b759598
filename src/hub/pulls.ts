// Downloads of a server: a bounded number at a time, each with a state that clients watch, pause and resume. Knows no HTTP and not
// what is downloaded.

import { aborted } from "node:util";
import { defined } from "../core/defined.ts";
import type { ErrorData } from "../core/error.ts";
import { ServiceError } from "../core/error.ts";
import type { HubPull, PullStatus, WatchedPull } from "../core/hub.ts";
import { newId } from "../core/id.ts";
import { Semaphore } from "../core/semaphore.ts";
import { PULL_EVENT_MS, PULL_SPEED_MS, PULLS_AT_ONCE, PULLS_MAX } from "./limits.ts";

/** What a pull downloads. */
export interface PullWork {
  /** Name of the model afterwards. */
  readonly model: string;
  readonly files: readonly PullWorkFile[];
  /** Downloads and installs it. Rejects with the signal's reason, or with why it has failed. */
  run(onFile: (path: string, bytes: number) => void, signal: AbortSignal): Promise<void>;
  /** Deletes what is incomplete. */
  discard(): void;
}

export interface PullWorkFile {
  readonly path: string;
  readonly bytes: number;
  /** SHA-256 of the content; absent where it is unknown. */
  readonly sha256?: string;
  /** What is on this machine before the start. */
  readonly doneBytes: number;
}

export interface PullsOptions {
  /** What clients may know of a failure. */
  readonly failureOf: (error: unknown) => ErrorData;
  readonly clock?: () => number;
  /** Pulls that download at the same time. */
  readonly atOnce?: number;
}

export class Pulls {
  private readonly options: PullsOptions;
  private readonly slots: Semaphore;
  private readonly pulls: Pull[] = []; // the oldest first

  constructor(options: PullsOptions) {
    this.options = options;
    this.slots = new Semaphore(options.atOnce ?? PULLS_AT_ONCE);
  }

  /** Starts a pull, resumes the one that downloads the same, or returns it while it runs. Throws ServiceError. */
  start(source: string, work: PullWork): WatchedPull {
    const same = this.pulls.find((pull) => pull.isSame(work));
    if (same !== undefined && same.status !== "completed") {
      same.resume(work);
      return same;
    }
    this.makeRoom();
    const pull = new Pull(source, work, this.slots, this.options);
    this.pulls.push(pull);
    return pull;
  }

  /** The newest first. */
  list(): readonly HubPull[] {
    return this.pulls.toReversed().map((pull) => pull.now());
  }

  /** Throws ServiceError(pull_not_found). */
  find(id: string): Pull {
    const pull = this.pulls.find((one) => one.id === id);
    if (pull !== undefined) return pull;
    const message = `unknown pull ${JSON.stringify(id.slice(0, 100))}; GET /v1/hub/pulls lists all`;
    throw new ServiceError("pull_not_found", message, { param: "id" });
  }

  /** Pauses a pull that no client watches. */
  leave(id: string): void {
    const pull = this.pulls.find((one) => one.id === id);
    if (pull?.watchers === 0 && pull.isActive) void pull.pause();
  }

  /** Stops a pull, deletes what is incomplete, and forgets it. */
  async discard(id: string): Promise<void> {
    const pull = this.find(id);
    await pull.discard();
    const index = this.pulls.indexOf(pull);
    if (index >= 0) this.pulls.splice(index, 1);
  }

  /** What running pulls have yet to write, one of them left out, bytes. */
  reservedBytes(except: string): number {
    return this.pulls.reduce((sum, pull) => sum + (pull.model === except ? 0 : pull.leftBytes), 0);
  }

  /** Pauses all of them. */
  async stop(): Promise<void> {
    await Promise.all(this.pulls.map((pull) => pull.pause()));
  }

  private makeRoom(): void {
    if (this.pulls.length < PULLS_MAX) return;
    const index = this.pulls.findIndex((pull) => !pull.isActive);
    if (index < 0)
      throw new ServiceError("queue_full", `${PULLS_MAX} downloads are waiting already; try again later`, {
        retryAfterSecs: 60,
      });
    this.pulls.splice(index, 1);
  }
}

interface Sample {
  readonly atMs: number;
  readonly bytes: number;
}

/** One download. */
export class Pull implements WatchedPull {
  readonly id = newId("pull_");
  status: PullStatus = "queued";
  /** Clients that read its states. */
  watchers = 0;
  private readonly source: string;
  private readonly slots: Semaphore;
  private readonly options: PullsOptions;
  private readonly createdSecs: number;
  private work: PullWork;
  private done: Map<string, number>; // bytes by path
  private samples: Sample[] = [];
  private error: ErrorData | undefined;
  private abort = new AbortController();
  private running: Promise<void>;
  private version = 0;
  private changed = Promise.withResolvers<void>();
  private toldMs = -Infinity;

  constructor(source: string, work: PullWork, slots: Semaphore, options: PullsOptions) {
    this.source = source;
    this.work = work;
    this.slots = slots;
    this.options = options;
    this.createdSecs = Math.floor(Date.now() / 1000);
    this.done = doneBytes(work);
    this.running = this.run();
  }

  get model(): string {
    return this.work.model;
  }

  get isActive(): boolean {
    return this.status === "queued" || this.status === "downloading";
  }

  /** Bytes that it has yet to write; 0 unless it runs. */
  get leftBytes(): number {
    const { total_bytes: total, completed_bytes: completed } = this.now();
    return this.isActive ? Math.max(0, total - completed) : 0;
  }

  isSame({ model, files }: PullWork): boolean {
    const paths = this.work.files.map(({ path }) => path);
    return model === this.model && paths.join("\n") === files.map(({ path }) => path).join("\n");
  }

  /** Begins again with what is known of the files now; nothing while it runs. */
  resume(work: PullWork): void {
    if (this.isActive && !this.abort.signal.aborted) return;
    this.work = work;
    this.done = doneBytes(work);
    this.samples = [];
    this.error = undefined;
    this.abort = new AbortController();
    this.become("queued");
    this.running = this.running.then(() => this.run());
  }

  async pause(): Promise<HubPull> {
    this.abort.abort(new Error("the download was paused"));
    await this.running;
    return this.now();
  }

  async discard(): Promise<void> {
    await this.pause();
    if (this.status !== "completed") this.work.discard();
  }

  now(): HubPull {
    const { work, done, status, error } = this;
    const total = work.files.reduce((sum, { bytes }) => sum + bytes, 0);
    const completed = work.files.reduce((sum, { path }) => sum + (done.get(path) ?? 0), 0);
    const speed = status === "downloading" ? this.bytesPerSec() : 0;
    return {
      id: this.id,
      object: "hub.pull",
      source: this.source,
      model: work.model,
      status,
      total_bytes: total,
      completed_bytes: completed,
      bytes_per_second: speed,
      seconds_left: speed > 0 ? Math.ceil((total - completed) / speed) : null,
      files: work.files.map(({ path, bytes, sha256 }) => ({
        path,
        size_bytes: bytes,
        completed_bytes: done.get(path) ?? 0,
        ...defined({ sha256 }),
      })),
      created_at: this.createdSecs,
      error: error === undefined ? null : { code: error.code, message: error.message },
    };
  }

  async *states(signal: AbortSignal): AsyncGenerator<HubPull> {
    const left = aborted(signal, signal);
    this.watchers++;
    try {
      for (let seen = -1; !signal.aborted;) {
        if (this.version === seen) {
          await Promise.race([this.changed.promise, left]);
          continue;
        }
        seen = this.version;
        yield this.now();
        if (this.version === seen && !this.isActive) return;
      }
    } finally {
      this.watchers--;
    }
  }

  private async run(): Promise<void> {
    const { abort } = this;
    const { signal } = abort;
    try {
      await this.slots.run(async () => {
        this.become("downloading");
        await this.work.run((path, bytes) => this.progressed(path, bytes), signal);
      }, signal);
      this.become("completed");
    } catch (error) {
      if (this.abort !== abort) return; // it was resumed meanwhile
      if (!signal.aborted) this.error = this.options.failureOf(error);
      this.become(signal.aborted ? "paused" : "failed");
    }
  }

  private progressed(path: string, bytes: number): void {
    this.done.set(path, bytes);
    const nowMs = this.nowMs();
    if (nowMs - this.toldMs < PULL_EVENT_MS) return;
    const total = [...this.done.values()].reduce((sum, one) => sum + one, 0);
    this.samples = [
      ...this.samples.filter(({ atMs }) => nowMs - atMs < PULL_SPEED_MS),
      { atMs: nowMs, bytes: total },
    ];
    this.tell(nowMs);
  }

  private become(status: PullStatus): void {
    this.status = status;
    this.tell(this.nowMs());
  }

  private tell(nowMs: number): void {
    this.toldMs = nowMs;
    this.version++;
    this.changed.resolve();
    this.changed = Promise.withResolvers();
  }

  private bytesPerSec(): number {
    const [first, last] = [this.samples[0], this.samples.at(-1)];
    if (first === undefined || last === undefined || last.atMs <= first.atMs) return 0;
    return Math.max(0, Math.round(((last.bytes - first.bytes) / (last.atMs - first.atMs)) * 1000));
  }

  private nowMs(): number {
    return (this.options.clock ?? (() => performance.now()))();
  }
}

function doneBytes({ files }: PullWork): Map<string, number> {
  return new Map(files.map(({ path, doneBytes: bytes }) => [path, bytes]));
}
