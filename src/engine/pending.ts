// Open requests of one engine: event queues of runs, and promises of single answers.

import { ServiceError, type ErrorData } from "../core/error.ts";
import { EventQueue } from "../core/queue.ts";
import { type EmbedResult, type Usage, WorkLeft } from "../core/run.ts";
import type { CalibrationCounts } from "../core/requantize.ts";
import type { EngineEvent, FromEngine, RunId } from "./protocol.ts";

interface Run {
  readonly queue: EventQueue<EngineEvent>;
  /** Called when the engine has sent its last event. */
  readonly ended: () => void;
}

export class Pending {
  private readonly runs = new Map<RunId, Run>();
  /** Runs that were aborted, until the engine has stopped them. */
  private readonly leaving = new Map<RunId, (spent: Usage | undefined) => void>();
  private readonly embeddings = new Map<RunId, PromiseWithResolvers<EmbedResult>>();
  private readonly calibrations = new Map<RunId, PromiseWithResolvers<CalibrationCounts>>();
  private next: RunId = 1;

  newId(): RunId {
    return this.next++;
  }

  /** The queue of a run's events, `E`, until the last one or `endRun`; then calls `ended`. */
  events<E extends EngineEvent>(id: RunId, ended: () => void): EventQueue<E> {
    const queue = new EventQueue<E>();
    this.runs.set(id, { queue, ended }); // each kind of message has its own kind of events
    return queue;
  }

  /** Whether a run's last event has not arrived yet. */
  expects(id: RunId): boolean {
    return this.runs.has(id);
  }

  embedding(id: RunId): PromiseWithResolvers<EmbedResult> {
    const answer = Promise.withResolvers<EmbedResult>();
    this.embeddings.set(id, answer);
    return answer;
  }

  calibration(id: RunId): PromiseWithResolvers<CalibrationCounts> {
    const answer = Promise.withResolvers<CalibrationCounts>();
    this.calibrations.set(id, answer);
    return answer;
  }

  /** What a run has spent that was aborted; undefined where the engine dies before it says so. */
  left(id: RunId): Promise<Usage | undefined> {
    return new Promise((resolve) => this.leaving.set(id, resolve));
  }

  /** Drops a request: later answers to this id are ignored. */
  forget(id: RunId): void {
    this.embeddings.delete(id);
    this.calibrations.delete(id);
  }

  /** Delivers an event to its run; the last one ends the run. */
  deliver(id: RunId, event: EngineEvent): void {
    const queue = this.runs.get(id)?.queue;
    if (queue === undefined) return this.endLeaving(id, event); // aborted meanwhile
    queue.push(event);
    if (!isEnd(event)) return;
    this.endRun(id);
    queue.close();
  }

  /** Settles the promise of a single answer. */
  answer(
    message: Extract<
      FromEngine,
      { type: "embedded" | "embed_failed" | "embed_left" | "calibration" | "calibration_failed" }
    >,
  ): void {
    const { id } = message;
    switch (message.type) {
      case "embedded": {
        const vectors = message.vectors.map(decodeVector);
        return this.embeddings.get(id)?.resolve({ vectors, promptTokens: message.promptTokens });
      }
      case "embed_failed":
        return this.embeddings.get(id)?.reject(ServiceError.fromData(message.error));
      case "embed_left":
        return this.embeddings.get(id)?.reject(new WorkLeft(undefined, message.promptTokens));
      case "calibration":
        return this.calibrations.get(id)?.resolve(message.counts);
      case "calibration_failed":
        return this.calibrations.get(id)?.reject(ServiceError.fromData(message.error));
    }
  }

  /** Drops a run: its later events are ignored. Whether it was open. */
  endRun(id: RunId): boolean {
    const run = this.runs.get(id);
    run?.ended();
    return this.runs.delete(id);
  }

  private endLeaving(id: RunId, event: EngineEvent): void {
    if (!isEnd(event)) return;
    this.leaving.get(id)?.(event.type === "finish" && "usage" in event ? event.usage : undefined);
    this.leaving.delete(id);
  }

  /** Fails all open requests. */
  failAll(error: ErrorData): void {
    for (const [id] of this.leaving) this.endLeaving(id, { type: "error", error });
    for (const [id] of this.runs) this.deliver(id, { type: "error", error });
    for (const answer of this.embeddings.values()) answer.reject(ServiceError.fromData(error));
    for (const answer of this.calibrations.values()) answer.reject(ServiceError.fromData(error));
  }
}

/** Whether an event is a request's last one. */
function isEnd(event: EngineEvent): boolean {
  return event.type === "speech" ? event.isLast : event.type === "finish" || event.type === "error";
}

/** A vector from base64 of little-endian f32. */
function decodeVector(text: string): number[] {
  const bytes = Buffer.from(text, "base64");
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4));
}
