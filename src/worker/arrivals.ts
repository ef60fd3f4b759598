// Requests whose prompts are still being rendered. They leave in the order they came.

import { ServiceError, type ErrorData } from "../core/error.ts";
import type { RunRequest } from "../core/run.ts";
import type { RunId } from "../engine/protocol.ts";
import type { Backend, PendingPrompt, RenderedPrompt } from "./backend.ts";
import type { Emit } from "./run-state.ts";

/** A request on its way in. */
export interface Arrival {
  readonly id: RunId;
  readonly request: RunRequest;
  /** Monotonic milliseconds. */
  readonly arrivedMs: number;
  readonly pending: PendingPrompt;
}

export class Arrivals {
  private readonly backend: Backend;
  private readonly emit: Emit;
  private readonly now: () => number;
  private queue: Arrival[] = [];

  constructor(backend: Backend, emit: Emit, now: () => number) {
    this.backend = backend;
    this.emit = emit;
    this.now = now;
  }

  get count(): number {
    return this.queue.length;
  }

  /** Begins to render a request's prompt. */
  add(id: RunId, request: RunRequest): void {
    try {
      this.queue.push({ id, request, arrivedMs: this.now(), pending: this.backend.render(request.prompt) });
    } catch (error) {
      this.fail(id, error);
    }
  }

  /** Drops a request; unknown ids are ignored. */
  abort(id: RunId): void {
    for (const arrival of this.queue) if (arrival.id === id) arrival.pending.free();
    this.queue = this.queue.filter((arrival) => arrival.id !== id);
  }

  /**
   * Hands over what is ready, waiting up to `waitMs` for the first. What `accept` or the rendering throws becomes the
   * run's error; the prompt belongs to `accept` only if it returns.
   */
  take(waitMs: number, accept: (arrival: Arrival, prompt: RenderedPrompt) => void): void {
    for (let arrival = this.queue[0]; arrival !== undefined; arrival = this.queue[0]) {
      let prompt: RenderedPrompt | undefined;
      try {
        prompt = arrival.pending.take(waitMs);
        if (prompt === undefined) return;
        this.queue.shift();
        accept(arrival, prompt);
      } catch (error) {
        prompt?.free();
        if (this.queue[0] === arrival) this.queue.shift();
        this.fail(arrival.id, error);
      }
    }
  }

  private fail(id: RunId, error: unknown): void {
    this.emit(id, { type: "error", error: toErrorData(error) });
  }
}

function toErrorData(error: unknown): ErrorData {
  if (error instanceof ServiceError) return error.toData();
  console.error("engine:", error);
  return { code: "internal_error", message: "The engine could not take this request." };
}
