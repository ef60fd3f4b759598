// One attempt of a run on one upstream. Yields the run's events, or returns why there are none.

import type { Caller } from "../core/caller.ts";
import type { RunEvent, RunRequest } from "../core/run.ts";
import { Answer } from "./answer.ts";
import { coalesced } from "./coalesce.ts";
import { estimatedTokens } from "./estimate.ts";
import { type Exchange, exchangeOf } from "./exchange.ts";
import {
  brokenAnswer,
  connectionFailure,
  type Failure,
  garbageFailure,
  refusal,
  streamError,
  timeoutFailure,
  withoutChat,
} from "./failure.ts";
import { readError, send } from "./http.ts";
import type { Correction } from "./learned.ts";
import { ENDED_SILENCE_MS, ERROR_BYTES_MAX, TRAILER_MS } from "./limits.ts";
import type { Lease } from "./pool.ts";
import { EventReader, StreamError } from "./sse.ts";
import { END, type WireChunk } from "./wire.ts";

export interface AttemptOptions {
  readonly request: RunRequest;
  readonly caller: Caller;
  readonly firstTokenMs: number;
  readonly silenceMs: number;
  /** When the run arrived, milliseconds of performance.now. */
  readonly startedMs: number;
  /** It asks whether the upstream answers at all. */
  readonly isProbe?: true;
}

/**
 * Asks the upstream of a lease. Events come from the upstream's first one on; after it every end is an event, and nothing is
 * returned. Always releases the lease; an abort ends the connection, and no event follows.
 */
export async function* attempt(
  lease: Lease,
  options: AttemptOptions,
  signal: AbortSignal,
): AsyncGenerator<RunEvent, Failure | undefined> {
  const call = new Call(lease, options, signal);
  try {
    return yield* call.events();
  } finally {
    call.close();
  }
}

class Call {
  private readonly lease: Lease;
  private readonly options: AttemptOptions;
  private readonly signal: AbortSignal;
  private exchange: Exchange;
  private readonly connection = new AbortController();
  private readonly onAbort = (): void => this.connection.abort(this.signal.reason);
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isLate = false; // first_token_timeout has passed, or the stream has been silent
  private readonly beganMs = performance.now();
  private heardMs = 0;
  private reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  private isRead = false; // the body, to its end
  private fault: unknown; // of an event that came with valid ones, which count first

  constructor(lease: Lease, options: AttemptOptions, signal: AbortSignal) {
    this.lease = lease;
    this.options = options;
    this.signal = signal;
    this.exchange = exchangeOf(options.request, lease.server, options.caller);
    signal.addEventListener("abort", this.onAbort, { once: true });
  }

  /** Aborts the attempt. */
  close(): void {
    clearTimeout(this.timer);
    this.signal.removeEventListener("abort", this.onAbort);
    if (!this.isRead) this.connection.abort();
    this.lease.release("aborted");
  }

  async *events(): AsyncGenerator<RunEvent, Failure | undefined> {
    const { firstTokenMs } = this.options;
    this.timer = setTimeout(() => this.giveUp(), firstTokenMs);
    let response: Response;
    const chunks: WireChunk[] = [];
    const events = new EventReader();
    try {
      const sent = await this.send();
      if (!(sent instanceof Response)) return this.fail(sent);
      response = sent;
      this.reader = response.body?.getReader();
      if (!(await this.more(events, chunks))) return this.fail(garbageFailure());
    } catch (thrown) {
      return this.signal.aborted ? undefined : this.fail(this.failureOf(thrown));
    }
    clearTimeout(this.timer);
    const [first] = chunks;
    if (first?.error !== undefined && first.error !== null) return this.failedAtOnce(first);
    try {
      yield* this.loading(events, chunks);
    } catch (thrown) {
      return this.signal.aborted ? undefined : this.fail(this.failureOf(thrown));
    }
    const [next] = chunks;
    if (next?.error !== undefined && next.error !== null) return this.failedAtOnce(next);
    yield* this.answer(response, events, chunks);
    return undefined;
  }

  /** The answer to the request, sent again in another form where the refusal asks for it; or the refusal. */
  private async send(): Promise<Response | Failure> {
    const { server } = this.lease;
    const { caller } = this.options;
    const tried = new Set<Correction>();
    for (;;) {
      const { path, body } = this.exchange;
      const response = await send(server.options, { path, body, caller, signal: this.connection.signal });
      if (response.ok) return response;
      const said = await readError(response, ERROR_BYTES_MAX);
      const isForm = response.status === 400 || response.status === 422;
      if (isForm && server.learned.correct(said, body, tried)) {
        this.exchange = exchangeOf(this.options.request, server, this.options.caller);
        continue;
      }
      this.isRead = true;
      const failure = refusal(response.status, response.headers, said, server.options.key);
      if (failure.isRouteMissing !== true) return failure;
      server.lacks(path);
      const { request, isProbe } = this.options;
      return request.prompt.type === "chat" ? withoutChat(isProbe === true) : failure;
    }
  }

  /** Takes reports on the load of the upstream's model from the chunks; one other chunk is left at least, unless the stream ends. */
  private async *loading(events: EventReader, chunks: WireChunk[]): AsyncGenerator<RunEvent> {
    if (this.options.request.progress !== true) return;
    for (;;) {
      const load = chunks[0]?.load_progress;
      if (load === undefined || load === null) return;
      chunks.shift();
      yield { type: "load_progress", permille: Math.round(load.progress * 1000) };
      if (!(await this.more(events, chunks))) return;
    }
  }

  /** Everything from the first chunk on. */
  private async *answer(
    response: Response,
    events: EventReader,
    chunks: WireChunk[],
  ): AsyncGenerator<RunEvent> {
    const { request, startedMs } = this.options;
    const promptTokens = promptTokensOf(response.headers) ?? estimatedTokens(request.prompt);
    const firstMs = performance.now();
    this.lease.server.firstEvent.add((firstMs - this.beganMs) / 1000);
    yield { type: "accepted", promptTokens, ...unenforcedOf(response.headers) };
    this.watchSilence();
    const answer = new Answer(request);
    try {
      do {
        // Chunks that arrived together become as few events as possible: the hop costs less the busier this server is.
        const taken: RunEvent[] = [];
        for (const chunk of chunks.splice(0)) {
          if (chunk.error !== undefined && chunk.error !== null) {
            taken.push(this.endedBy(chunk.error));
            break;
          }
          taken.push(...answer.take(chunk));
        }
        for (const event of coalesced(taken)) yield event;
        if (taken.at(-1)?.type === "error") return;
        if (answer.isComplete) this.awaitEnd();
      } while (await this.more(events, chunks));
    } catch (thrown) {
      if (this.signal.aborted) return;
      // What follows the end of an answer, or fails to, does not take it away.
      if (!answer.isComplete) return yield this.broken(thrown);
    }
    if (!answer.isComplete)
      return yield this.broken(new StreamError("ended the answer before it was complete"));
    this.lease.release("answered", { type: "well" });
    this.carry(answer);
    for (const event of answer.ends()) yield event;
    const endMs = performance.now();
    yield {
      type: "finish",
      usage: answer.counts(promptTokens),
      timings: { promptSecs: (firstMs - startedMs) / 1000, completionSecs: (endMs - firstMs) / 1000 },
    };
  }

  /** Reads until there are more chunks; false at the end of the stream. Throws StreamError for an invalid chunk. */
  private async more(events: EventReader, chunks: WireChunk[]): Promise<boolean> {
    while (chunks.length === 0) {
      const { reader, fault } = this;
      if (fault !== undefined) throw fault;
      if (reader === undefined || this.isRead) return false;
      const { done, value } = await reader.read();
      this.heardMs = performance.now();
      if (done) {
        this.isRead = true;
        this.take(events.end(), chunks);
        return chunks.length > 0;
      }
      if (this.take(events.push(value), chunks)) return chunks.length > 0;
    }
    return true;
  }

  /** Adds what the events say to the chunks; true after the last one. Throws StreamError for an invalid event, or has `more` do so. */
  private take(events: readonly string[], chunks: WireChunk[]): boolean {
    try {
      for (const data of events) {
        const chunk = this.exchange.read(data);
        if (chunk === END) {
          this.finishReading();
          return true;
        }
        if (chunk !== undefined) chunks.push(chunk);
      }
    } catch (thrown) {
      if (chunks.length === 0) throw thrown;
      this.fault = thrown;
    }
    return false;
  }

  /** Reads the body to its end, right after the last event, so that the connection can be reused. */
  private finishReading(): void {
    const { reader, connection } = this;
    this.isRead = true;
    const timer = setTimeout(() => connection.abort(), TRAILER_MS);
    void (async () => {
      try {
        for (let end = reader === undefined; !end;) end = (await reader?.read())?.done ?? true;
      } catch {
        // The answer is complete; the connection is closed.
      } finally {
        clearTimeout(timer);
      }
    })();
  }

  private giveUp(): void {
    this.isLate = true;
    this.connection.abort();
  }

  private watchSilence(): void {
    const { silenceMs } = this.options;
    const quietMs = performance.now() - this.heardMs;
    if (quietMs >= silenceMs) return this.giveUp();
    this.timer = setTimeout(() => this.watchSilence(), silenceMs - quietMs + 1);
  }

  /** A server that keeps the connection open after its answer is not waited for. */
  private awaitEnd(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.giveUp(), ENDED_SILENCE_MS);
  }

  /** Remembers what the upstream wants back with its calls. */
  private carry(answer: Answer): void {
    const { client } = this.options.caller;
    for (const { id, name, arguments: args, ...carried } of answer.calls)
      this.lease.server.carried.keep({ client, id, name, arguments: args }, carried);
  }

  private failureOf(thrown: unknown): Failure {
    const { runsNoTools } = this.lease.server.facts;
    if (this.isLate) return timeoutFailure(this.options.firstTokenMs / 1000, runsNoTools);
    return thrown instanceof StreamError ? garbageFailure() : connectionFailure(thrown, runsNoTools);
  }

  private fail(failure: Failure): Failure {
    const outcome =
      failure.verdict.type === "busy" ? "busy" : failure.verdict.type === "well" ? "refused" : "failed";
    this.lease.release(outcome, failure.verdict);
    return failure;
  }

  private failedAtOnce({ error }: WireChunk): Failure {
    const failure = streamError(error, this.lease.server.options.key);
    const verdict = { type: "failed", problem: "an answer began with an error", isCertain: false } as const;
    return this.fail({ error: failure, mayRetry: false, verdict });
  }

  private endedBy(error: unknown): RunEvent {
    const problem = "an answer ended with an error";
    this.lease.release("broken", { type: "failed", problem, isCertain: false });
    return { type: "error", error: streamError(error, this.lease.server.options.key).toData() };
  }

  private broken(thrown: unknown): RunEvent {
    const what = this.isLate
      ? `sent nothing for ${this.options.silenceMs / 1000} seconds`
      : thrown instanceof StreamError
        ? thrown.message
        : "closed the connection within the answer";
    this.lease.release("broken", { type: "failed", problem: `it ${what}`, isCertain: false });
    return { type: "error", error: brokenAnswer(what).toData() };
  }
}

/** The `accepted` event, as for a local model. */
function promptTokensOf(headers: Headers): number | undefined {
  const count = Number(headers.get("x-svc-prompt-tokens") ?? Number.NaN);
  return Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}

function unenforcedOf(headers: Headers): { readonly unenforced?: readonly string[] } {
  const places = headers.get("x-svc-unenforced");
  return places === null || places === "" ? {} : { unenforced: places.split(", ").map(decoded) };
}

function decoded(place: string): string {
  try {
    return decodeURIComponent(place);
  } catch {
    return place;
  }
}
