// Embeddings, computed in a context of their own beside the running sequences: one compute batch a step, so that neither
// holds up the other for long.

import { ServiceError } from "../core/error.ts";
import type { EmbedRequest } from "../core/run.ts";
import type { RunId } from "../engine/protocol.ts";
import type { BatchColumns, PendingPrompt, SlotId } from "./backend.ts";
import type { EmbedBackend } from "./embed-backend.ts";

export interface EmbedOutcome {
  readonly id: RunId;
  readonly result:
    | { readonly vectors: readonly Float32Array[]; readonly promptTokens: number }
    | ServiceError;
}

interface Job {
  readonly id: RunId;
  readonly request: EmbedRequest;
  readonly pending: PendingPrompt[];
  readonly inputs: Int32Array[];
  readonly vectors: Float32Array[];
  promptTokens: number;
}

/** Part of an input in one batch. */
interface Piece {
  readonly slot: SlotId;
  readonly rowStart: number;
  /** Tokens of the input before this piece. */
  readonly from: number;
  readonly count: number;
  readonly isLast: boolean;
}

export class Embedder {
  private readonly backend: () => EmbedBackend;
  private readonly done: (outcome: EmbedOutcome) => void;
  private columns: BatchColumns | undefined;
  private jobs: Job[] = [];
  private computed = 0; // tokens of the first job's first unfinished input
  private sum = new Float32Array(); // [dimensions] what they add up to so far

  /** `backend` is called at the first request: an embedding context takes memory. */
  constructor(backend: () => EmbedBackend, done: (outcome: EmbedOutcome) => void) {
    this.backend = backend;
    this.done = done;
  }

  add(id: RunId, request: EmbedRequest): void {
    try {
      const backend = this.backend();
      const pending = request.inputs.map((input) => backend.tokenize(input));
      this.jobs.push({ id, request, pending, inputs: [], vectors: [], promptTokens: 0 });
    } catch (error) {
      this.done({ id, result: toServiceError(error) });
    }
  }

  /** Drops a request; unknown ids are ignored. */
  abort(id: RunId): void {
    const job = this.jobs.find((entry) => entry.id === id);
    if (job !== undefined) this.drop(job);
  }

  /** Does one batch. False when there is nothing to do. */
  step(waitMs: number): boolean {
    const [job] = this.jobs;
    if (job === undefined) return false;
    try {
      if (this.collect(job, waitMs)) this.compute(job);
    } catch (error) {
      this.drop(job);
      this.done({ id: job.id, result: toServiceError(error) });
    }
    return true;
  }

  /** Takes tokenized inputs over; true when all are there. */
  private collect(job: Job, waitMs: number): boolean {
    for (let next = job.pending[0]; next !== undefined; next = job.pending[0]) {
      const prompt = next.take(waitMs);
      if (prompt === undefined) return false;
      job.pending.shift();
      prompt.free();
      job.inputs.push(this.fit(prompt.tokens, job));
    }
    return true;
  }

  private fit(tokens: Int32Array, { request, inputs }: Job): Int32Array {
    const { contextTokens } = this.backend();
    const param = request.inputs.length === 1 ? "input" : `input[${inputs.length}]`;
    if (tokens.length === 0) throw new ServiceError("invalid_request", "The input is empty.", { param });
    if (tokens.length <= contextTokens) return tokens;
    if (request.truncate) return tokens.subarray(0, contextTokens);
    throw new ServiceError(
      "context_length_exceeded",
      `The input has ${tokens.length} tokens, but the model embeds at most ${contextTokens}. ` +
        "Shorten it, or set truncate_sequence to true to drop its end.",
      { param },
    );
  }

  private compute(job: Job): void {
    const backend = this.backend();
    const { columns, pieces, rows } = this.fill(job, backend);
    if (!backend.decode(columns, rows)) {
      throw new ServiceError("engine_failed", "The model's engine could not compute this input.");
    }
    for (const piece of pieces) this.pool(job, piece, backend);
    if (job.vectors.length < job.inputs.length) return;
    this.jobs.shift();
    this.done({ id: job.id, result: { vectors: job.vectors, promptTokens: job.promptTokens } });
  }

  /** Lays out as much of the job's unfinished inputs as a batch holds, each in a slot of its own. */
  private fill(job: Job, backend: EmbedBackend): { columns: BatchColumns; pieces: Piece[]; rows: number } {
    const columns = (this.columns ??= newColumns(backend.batch));
    const pieces: Piece[] = [];
    let at = 0;
    for (
      let input = job.vectors.length;
      input < job.inputs.length && pieces.length < backend.slots;
      input++
    ) {
      const tokens = job.inputs[input] ?? new Int32Array();
      const from = pieces.length === 0 ? this.computed : 0;
      const left = tokens.length - from;
      const room = backend.batch - at;
      if (room === 0 || (!backend.causal && left > room)) break;
      const count = Math.min(left, room);
      const slot = (input % backend.slots) as SlotId;
      for (let i = 0; i < count; i++) columns.position[at + i] = from + i;
      columns.token.set(tokens.subarray(from, from + count), at);
      columns.slot.fill(slot, at, at + count);
      columns.output.fill(1, at, at + count);
      pieces.push({ slot, rowStart: at, from, count, isLast: count === left });
      at += count;
    }
    return { columns, pieces, rows: at };
  }

  private pool(job: Job, { slot, rowStart, from, count, isLast }: Piece, backend: EmbedBackend): void {
    if (from === 0) this.sum = new Float32Array(backend.dimensions);
    if (backend.pooling === "mean") {
      backend.addRows(
        Int32Array.from({ length: count }, (_, i) => rowStart + i),
        this.sum,
      );
    } else if (backend.pooling === "cls" && from === 0) {
      backend.addRows(Int32Array.of(rowStart), this.sum);
    } else if (backend.pooling === "last" && isLast) {
      backend.addRows(Int32Array.of(rowStart + count - 1), this.sum);
    }
    job.promptTokens += count;
    this.computed = isLast ? 0 : from + count;
    if (!isLast) return;
    normalize(this.sum);
    job.vectors.push(this.sum);
    backend.clearSlot(slot);
  }

  private drop(job: Job): void {
    for (const pending of job.pending) pending.free();
    if (this.jobs[0] === job) {
      this.computed = 0;
      const backend = this.backend();
      for (let slot = 0; slot < backend.slots; slot++) backend.clearSlot(slot as SlotId);
    }
    this.jobs = this.jobs.filter((other) => other !== job);
  }
}

function newColumns(rows: number): BatchColumns {
  return {
    token: new Int32Array(rows),
    position: new Int32Array(rows),
    slot: new Int32Array(rows),
    output: new Int8Array(rows),
  };
}

/** To unit length; a vector of zeros stays one. The mean's divisor cancels out here. */
function normalize(vector: Float32Array): void {
  const length = Math.hypot(...vector);
  if (length > 0) for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] ?? 0) / length;
}

function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  console.error("engine:", error);
  return new ServiceError("internal_error", "The engine could not take this request.");
}
