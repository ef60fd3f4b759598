// Queue of image requests. Generates one image at a time; requests take turns image by image, so a request for many
// images does not delay the others. Knows neither the library nor the serving process.

import { ServiceError } from "../../core/error.ts";
import type { ImageEvent, ImageRequest } from "../../core/image.ts";
import { reasonOf } from "../../core/reason.ts";
import { IMAGE_POLL_MS } from "../shared/limits.ts";
import type { RunId } from "../../engine/protocol.ts";
import type { ImageBackend, ImageGeneration } from "./backend.ts";
import { pngOf } from "./png.ts";

export interface ImageQueueDeps {
  readonly backend: ImageBackend;
  readonly steps: number;
  readonly guidance: number;
  readonly emit: (id: RunId, event: ImageEvent) => void;
  /** For the operator. */
  readonly log: (line: string) => void;
  readonly newSeed: () => number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

interface Job {
  readonly id: RunId;
  readonly request: ImageRequest;
  readonly seed: number;
  /** Images generated so far. */
  done: number;
}

/** The client's error; the operator's log has the reason. */
const FAILED = new ServiceError(
  "engine_failed",
  "the image could not be generated; the server's log says why",
).toData();

export class ImageQueue {
  private readonly deps: ImageQueueDeps;
  private readonly jobs: Job[] = [];
  private current: { readonly id: RunId; readonly generation: ImageGeneration } | undefined;

  constructor(deps: ImageQueueDeps) {
    this.deps = deps;
  }

  get isIdle(): boolean {
    return this.jobs.length === 0;
  }

  add(id: RunId, request: ImageRequest): void {
    this.jobs.push({ id, request, seed: request.seed ?? this.deps.newSeed(), done: 0 });
  }

  /** Drops a request without further events. */
  abort(id: RunId): void {
    const index = this.jobs.findIndex((job) => job.id === id);
    if (index >= 0) this.jobs.splice(index, 1);
    if (this.current?.id === id) this.current.generation.cancel();
  }

  /** Drops all requests. */
  stop(): void {
    this.jobs.length = 0;
    this.current?.generation.cancel();
  }

  /** Generates one image of the next request. Its errors become events of that request. */
  async generateNext(): Promise<void> {
    const job = this.jobs[0];
    if (job === undefined) return;
    const { emit, log } = this.deps;
    try {
      if (!(await this.generate(job))) return; // aborted: not in the queue any more
    } catch (error) {
      this.remove(job);
      if (!(error instanceof ServiceError)) log(`an image could not be generated: ${reasonOf(error)}`);
      const told = error instanceof ServiceError ? error.toData() : FAILED;
      return emit(job.id, { type: "error", error: told });
    }
    if (!this.remove(job)) return;
    if (job.done < job.request.count) this.jobs.push(job);
    else emit(job.id, { type: "finish" });
  }

  /** False: it was cancelled. Throws the library's reason. */
  private async generate(job: Job): Promise<boolean> {
    const { backend, steps, guidance, emit, now } = this.deps;
    const { prompt, width, height } = job.request;
    const startMs = now();
    const seed = job.seed + job.done;
    const spec = { prompt, width, height, steps, guidance, seed };
    const inTiles = await backend.decodesInTiles(spec);
    if (!this.jobs.includes(job)) return false; // aborted meanwhile
    const generation = backend.generate(spec, inTiles);
    this.current = { id: job.id, generation };
    try {
      const state = await this.follow(job, generation);
      if (state === "failed") throw new Error(generation.failure);
      if (state !== "done") return false;
      const png = Buffer.from(pngOf(generation.pixels(), width, height)).toString("base64");
      emit(job.id, { type: "image", image: job.done, png, steps, seconds: (now() - startMs) / 1000 });
      job.done++;
      return true;
    } finally {
      this.current = undefined;
      generation.free();
    }
  }

  /** Emits steps until the generation ends. The library has no callback, so its progress is polled. */
  private async follow(job: Job, generation: ImageGeneration): Promise<ImageGeneration["state"]> {
    let emitted = 0;
    for (;;) {
      const { state, steps: step } = generation;
      if (step > emitted && this.jobs.includes(job)) {
        this.deps.emit(job.id, { type: "step", image: job.done, step, steps: this.deps.steps });
        emitted = step;
      }
      if (state !== "running") return state;
      await this.deps.sleep(IMAGE_POLL_MS);
    }
  }

  /** Whether it was still in the queue. */
  private remove(job: Job): boolean {
    const index = this.jobs.indexOf(job);
    if (index >= 0) this.jobs.splice(index, 1);
    return index >= 0;
  }
}
