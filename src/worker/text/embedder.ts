// Embeddings and rerank scores, computed in a separate context beside the running sequences, one micro-batch a step so that
// neither delays the other for long. Batches take inputs round-robin from all requests, so a long list of texts does not
// delay the others.

import { ServiceError } from "../../core/error.ts";
import { refuseTokens } from "../../core/quota.ts";
import type { EmbedRequest, RankRequest } from "../../core/run.ts";
import type { RunId } from "../../engine/protocol.ts";
import type { BatchColumns, PendingPrompt, SlotId } from "./backend.ts";
import type { EmbedBackend, EmbedInput } from "./embed-backend.ts";

export interface EmbedOutcome {
  readonly id: RunId;
  readonly result:
    | { readonly vectors: readonly Float32Array[]; readonly promptTokens: number }
    | ServiceError;
}

/** A request. */
interface Job {
  readonly id: RunId;
  readonly request: EmbedRequest | RankRequest;
  /** Inputs that are being tokenized, in order. */
  readonly pending: PendingPrompt[];
  /** Tokenized inputs. */
  readonly inputs: Int32Array[];
  /** Inputs put into a batch so far, and inputs finished. */
  begun: number;
  finished: number;
  /** Tokens computed so far. */
  computed: number;
  readonly vectors: Float32Array[]; // [inputs]
}

/** An input in progress, over one batch or several. */
interface Input {
  readonly job: Job;
  readonly index: number;
  readonly tokens: Int32Array;
  readonly slot: SlotId;
  /** Tokens computed, and the sum of their embeddings. */
  computed: number;
  readonly sum: Float32Array; // [dimensions]
}

/** The part of an input in the current batch. */
interface Piece {
  readonly input: Input;
  readonly row: number;
  readonly count: number;
}

export class Embedder {
  private readonly backend: () => EmbedBackend;
  private readonly done: (outcome: EmbedOutcome) => void;
  private readonly left: (id: RunId, promptTokens: number) => void;
  private columns: BatchColumns | undefined;
  private arriving: Job[] = []; // oldest first
  private ready: Job[] = []; // next first
  private cut: Input | undefined; // the input that the last batch ended within

  /**
   * `backend` is called at the first request, because an embedding context takes memory; `left` for one that was aborted, with the
   * tokens that were computed.
   */
  constructor(
    backend: () => EmbedBackend,
    done: (outcome: EmbedOutcome) => void,
    left: (id: RunId, promptTokens: number) => void = () => undefined,
  ) {
    this.backend = backend;
    this.done = done;
    this.left = left;
  }

  /** Adds a request. The vectors of a rank request are scores, [inputs][1]. */
  add(id: RunId, request: EmbedRequest | RankRequest): void {
    const job: Job = {
      id,
      request,
      pending: [],
      inputs: [],
      begun: 0,
      finished: 0,
      computed: 0,
      vectors: [],
    };
    try {
      const backend = this.backend();
      for (const input of inputsOf(request)) job.pending.push(backend.tokenize(input));
      this.arriving.push(job);
    } catch (error) {
      this.fail(job, error);
    }
  }

  /** Drops a request and says how far it came. Ignores unknown ids. */
  abort(id: RunId): void {
    const job = [...this.arriving, ...this.ready].find((entry) => entry.id === id);
    if (job === undefined) return;
    this.drop(job);
    this.left(id, job.computed);
  }

  /**
   * Computes one batch. `waitMs`: how long it may wait for texts to be tokenized when there is nothing to compute. False:
   * there is no work.
   */
  step(waitMs: number): boolean {
    if (this.arriving.length === 0 && this.ready.length === 0) return false;
    this.takeArrivals(this.ready.length === 0 ? waitMs : 0);
    if (this.ready.length > 0) this.compute(this.backend());
    return true;
  }

  /** Moves requests whose inputs are all tokenized to `ready`. */
  private takeArrivals(waitMs: number): void {
    for (let job = this.arriving[0]; job !== undefined; job = this.arriving[0]) {
      try {
        if (!this.collect(job, waitMs)) return;
        refuseTokens(tokensOf(job), job.request.tokensMax);
        this.arriving.shift();
        this.ready.push(job);
      } catch (error) {
        this.fail(job, error);
      }
    }
  }

  /** Takes tokenized inputs. True: all are tokenized. */
  private collect(job: Job, waitMs: number): boolean {
    for (let next = job.pending.shift(); next !== undefined; next = job.pending.shift()) {
      const prompt = next.take(waitMs); // when it throws, nothing is left to free
      if (prompt === undefined) {
        job.pending.unshift(next);
        return false;
      }
      prompt.free();
      job.inputs.push(this.fit(prompt.tokens, job));
    }
    return true;
  }

  private fit(tokens: Int32Array, { request, inputs }: Job): Int32Array {
    const { contextTokens } = this.backend();
    const param = fieldOf(request, inputs.length);
    if (tokens.length === 0)
      throw new ServiceError("invalid_request", "the input is empty; send text or tokens", { param });
    if (tokens.length <= contextTokens) return tokens;
    if (request.truncate) return tokens.subarray(0, contextTokens);
    throw new ServiceError(
      "context_length_exceeded",
      `the input has ${tokens.length} tokens, but the model reads at most ${contextTokens}; ` +
        "shorten it, or set truncate_sequence to true to drop its end",
      { param },
    );
  }

  private compute(backend: EmbedBackend): void {
    const columns = (this.columns ??= newColumns(backend.batch));
    const { pieces, rows } = this.fill(backend, columns);
    try {
      if (!backend.decode(columns, rows)) {
        throw new ServiceError("engine_failed", "the model's engine could not compute this input");
      }
      for (const piece of pieces) pool(piece, backend);
    } catch (error) {
      this.cut = undefined;
      for (const { input } of pieces) backend.clearSlot(input.slot);
      for (const job of new Set(pieces.map(({ input }) => input.job))) this.fail(job, error);
      return;
    }
    for (const { input, count } of pieces) input.job.computed += count;
    const last = pieces.at(-1)?.input;
    this.cut = last !== undefined && last.computed < last.tokens.length ? last : undefined;
    for (const { input } of pieces) if (input !== this.cut) this.finish(input, backend);
  }

  /** Fills a batch, each input in its own slot; an input that was cut continues first. */
  private fill(
    backend: EmbedBackend,
    columns: BatchColumns,
  ): { readonly pieces: readonly Piece[]; readonly rows: number } {
    const pieces: Piece[] = [];
    const firstSlot = this.cut?.slot ?? 0;
    let row = 0;
    let input = this.cut;
    while (row < backend.batch && pieces.length < backend.slots) {
      const slot = ((firstSlot + pieces.length) % backend.slots) as SlotId;
      input ??= this.begin(slot, backend, backend.batch - row);
      if (input === undefined) break;
      const { tokens, computed } = input;
      const count = Math.min(tokens.length - computed, backend.batch - row);
      for (let i = 0; i < count; i++) columns.position[row + i] = computed + i;
      columns.token.set(tokens.subarray(computed, computed + count), row);
      columns.slot.fill(slot, row, row + count);
      columns.output.fill(1, row, row + count);
      pieces.push({ input, row, count });
      row += count;
      input = undefined;
    }
    return { pieces, rows: row };
  }

  /** The next input of the next request; undefined without one, or if it does not fit the room. */
  private begin(slot: SlotId, backend: EmbedBackend, room: number): Input | undefined {
    const job = this.ready.find(({ begun, inputs }) => begun < inputs.length);
    const tokens = job?.inputs[job.begun];
    if (job === undefined || tokens === undefined) return undefined;
    if (!backend.causal && tokens.length > room) return undefined;
    this.ready = [...this.ready.filter((other) => other !== job), job];
    const sum = new Float32Array(backend.dimensions);
    return { job, index: job.begun++, tokens, slot, computed: 0, sum };
  }

  private finish({ job, index, slot, sum }: Input, backend: EmbedBackend): void {
    backend.clearSlot(slot);
    if (!backend.ranks) normalize(sum);
    job.vectors[index] = sum;
    job.finished++;
    if (job.finished < job.inputs.length) return;
    this.ready = this.ready.filter((other) => other !== job);
    this.done({ id: job.id, result: { vectors: job.vectors, promptTokens: tokensOf(job) } });
  }

  private fail(job: Job, error: unknown): void {
    this.drop(job);
    this.done({ id: job.id, result: toServiceError(error) });
  }

  private drop(job: Job): void {
    for (const pending of job.pending) pending.free();
    if (this.cut?.job === job) {
      this.backend().clearSlot(this.cut.slot);
      this.cut = undefined;
    }
    this.arriving = this.arriving.filter((other) => other !== job);
    this.ready = this.ready.filter((other) => other !== job);
  }
}

function tokensOf({ inputs }: Job): number {
  return inputs.reduce((total, { length }) => total + length, 0);
}

function inputsOf(request: EmbedRequest | RankRequest): readonly EmbedInput[] {
  if ("inputs" in request) return request.inputs;
  const { documents, ...common } = request;
  return documents.map((document) => ({ ...common, document }));
}

/** The request field of an input. */
function fieldOf(request: EmbedRequest | RankRequest, index: number): string {
  if ("documents" in request) return `documents[${index}]`;
  return request.inputs.length === 1 ? "input" : `input[${index}]`;
}

function newColumns(rows: number): BatchColumns {
  return {
    token: new Int32Array(rows),
    position: new Int32Array(rows),
    slot: new Int32Array(rows),
    output: new Int8Array(rows),
  };
}

/** Adds a piece's pooled tokens to the sum of its input. */
function pool({ input, row, count }: Piece, backend: EmbedBackend): void {
  const isFirst = input.computed === 0;
  input.computed += count;
  const isLast = input.computed === input.tokens.length;
  if (backend.ranks) {
    if (backend.pooling === "last" ? isLast : isFirst) input.sum[0] = backend.score(input.slot);
  } else if (backend.pooling === "mean") {
    backend.addRows(
      Int32Array.from({ length: count }, (_, i) => row + i),
      input.sum,
    );
  } else if (backend.pooling === "cls" && isFirst) {
    backend.addRows(Int32Array.of(row), input.sum);
  } else if (backend.pooling === "last" && isLast) {
    backend.addRows(Int32Array.of(row + count - 1), input.sum);
  }
}

/** Normalizes to unit length, except a zero vector. The divisor of mean pooling cancels out here. */
function normalize(vector: Float32Array): void {
  const length = Math.hypot(...vector);
  if (length > 0) for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] ?? 0) / length;
}

function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  console.error("engine:", error);
  return new ServiceError("internal_error", "the engine could not take this request");
}
