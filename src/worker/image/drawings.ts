// Draws the pictures that requests ask for, one at a time. Requests take turns by the picture, so that one that wants many
// does not keep the others waiting. Knows neither the library nor the other process.

import { ServiceError } from "../../core/error.ts";
import type { ImageEvent, ImageRequest } from "../../core/image.ts";
import { reasonOf } from "../../core/reason.ts";
import { DRAWING_POLL_MS } from "../shared/limits.ts";
import type { RunId } from "../../engine/protocol.ts";
import type { Drawing, ImageBackend } from "./backend.ts";
import { pngOf } from "./png.ts";

export interface DrawingsDeps {
  readonly backend: ImageBackend;
  readonly steps: number;
  readonly guidance: number;
  readonly emit: (id: RunId, event: ImageEvent) => void;
  /** For the operator. */
  readonly log: (line: string) => void;
  readonly newSeed: () => number;
  /** Milliseconds on any clock. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

interface Job {
  readonly id: RunId;
  readonly request: ImageRequest;
  readonly seed: number;
  /** Pictures that are drawn. */
  drawn: number;
}

/** What a client is told; the reason is for the operator. */
const FAILED = new ServiceError(
  "engine_failed",
  "The picture could not be drawn. The server's log says why.",
).toData();

export class Drawings {
  private readonly deps: DrawingsDeps;
  private readonly waiting: Job[] = [];
  private current: { readonly id: RunId; readonly drawing: Drawing } | undefined;

  constructor(deps: DrawingsDeps) {
    this.deps = deps;
  }

  get isIdle(): boolean {
    return this.waiting.length === 0;
  }

  add(id: RunId, request: ImageRequest): void {
    this.waiting.push({ id, request, seed: request.seed ?? this.deps.newSeed(), drawn: 0 });
  }

  /** The caller has gone: nothing more is told about it. */
  abort(id: RunId): void {
    const index = this.waiting.findIndex((job) => job.id === id);
    if (index >= 0) this.waiting.splice(index, 1);
    if (this.current?.id === id) this.current.drawing.cancel();
  }

  /** Ends all of it. */
  stop(): void {
    this.waiting.length = 0;
    this.current?.drawing.cancel();
  }

  /** Draws one picture of the request whose turn it is. Its errors are events of that request. */
  async drawNext(): Promise<void> {
    const job = this.waiting[0];
    if (job === undefined) return;
    const { emit, log } = this.deps;
    try {
      if (!(await this.drawOne(job))) return; // aborted: it is not waiting any more
    } catch (error) {
      this.remove(job);
      log(`a picture could not be drawn: ${reasonOf(error)}`);
      return emit(job.id, { type: "error", error: FAILED });
    }
    if (!this.remove(job)) return;
    if (job.drawn < job.request.count) this.waiting.push(job);
    else emit(job.id, { type: "finish" });
  }

  /** False when it was cancelled. Throws the library's reason. */
  private async drawOne(job: Job): Promise<boolean> {
    const { backend, steps, guidance, emit, now } = this.deps;
    const { prompt, width, height } = job.request;
    const startMs = now();
    const seed = job.seed + job.drawn;
    const drawing = backend.draw({ prompt, width, height, steps, guidance, seed });
    this.current = { id: job.id, drawing };
    try {
      const state = await this.watch(job, drawing);
      if (state === "failed") throw new Error(drawing.failure);
      if (state !== "drawn") return false;
      const png = Buffer.from(pngOf(drawing.pixels(), width, height)).toString("base64");
      emit(job.id, { type: "image", image: job.drawn, png, steps, seconds: (now() - startMs) / 1000 });
      job.drawn++;
      return true;
    } finally {
      this.current = undefined;
      drawing.free();
    }
  }

  /** Tells of the steps until it has ended. The library calls nobody, so it is asked. */
  private async watch(job: Job, drawing: Drawing): Promise<Drawing["state"]> {
    let told = 0;
    for (;;) {
      const { state, steps: step } = drawing;
      if (step > told && this.waiting.includes(job)) {
        this.deps.emit(job.id, { type: "step", image: job.drawn, step, steps: this.deps.steps });
        told = step;
      }
      if (state !== "drawing") return state;
      await this.deps.sleep(DRAWING_POLL_MS);
    }
  }

  /** Whether it was still wanted. */
  private remove(job: Job): boolean {
    const index = this.waiting.indexOf(job);
    if (index >= 0) this.waiting.splice(index, 1);
    return index >= 0;
  }
}
