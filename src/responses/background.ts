// Background responses, which continue after their client disconnects. Each is stored when accepted and when final; in
// between, its builder has the current state. Knows no HTTP.

import type { AnswerEvent, Converse } from "../core/agent.ts";
import { assert } from "../core/assert.ts";
import type { Caller, ForCaller } from "../core/caller.ts";
import { type ErrorData, ServiceError } from "../core/error.ts";
import { FairShare } from "../core/fair-share.ts";
import { FrameLog, type FrameReader } from "../core/frame-log.ts";
import { leastWorthBeyond } from "../core/least-worth.ts";
import { BACKGROUND_RUNS_MAX, FRAME_LOGS_MAX } from "./limits.ts";
import { ResponseBuilder } from "../dialects/responses/builder.ts";
import type { ResponsesCall } from "../dialects/responses/request.ts";
import type { ResponseHead, ResponseResource } from "../dialects/responses/resource.ts";
import { ResponseStream } from "../dialects/responses/stream.ts";
import type { ResponseStore } from "./store.ts";

export interface BackgroundOptions {
  readonly converse: Converse;
  readonly store: ForCaller<ResponseStore>;
  /** Converts a thrown value to the error for the client; logs bugs. */
  readonly failureOf: (thrown: unknown) => ErrorData;
  /** Current time, Unix seconds. */
  readonly clock: () => number;
}

/** A running background response. */
interface Job {
  readonly call: ResponsesCall;
  /** Who asked. */
  readonly caller: Caller;
  readonly builder: ResponseBuilder;
  readonly abort: AbortController;
  /** Encoder and log of its frames, if the request has stream: true. */
  readonly stream?: { readonly encoder: ResponseStream; readonly log: FrameLog };
}

/** The background responses of a server. */
export class BackgroundResponses {
  private readonly options: BackgroundOptions;
  private readonly jobs = new Map<string, Job>();
  private readonly places = new FairShare(() => BACKGROUND_RUNS_MAX);
  /** Read loops of all runs, cancelled ones included. */
  private readonly reading = new Set<Promise<void>>();
  /** Frame logs of running and of the latest finished responses, oldest first. */
  private readonly logs = new Map<string, { readonly log: FrameLog; readonly caller: Caller }>();

  constructor(options: BackgroundOptions) {
    this.options = options;
  }

  /** Starts a response and returns its resource with status `queued`. Throws if it is refused at once. */
  start(call: ResponsesCall, head: ResponseHead, caller: Caller): ResponseResource {
    const { client } = caller;
    if (!this.places.take(client)) {
      throw new ServiceError("queue_full", "too many background responses are running; retry later");
    }
    const job = this.newJob(call, head, caller);
    try {
      const events = this.options.converse({ run: call.run, agent: call.agent }, job.abort.signal, caller);
      job.builder.queue();
      this.options.store(caller).keep(call, job.builder);
      this.begin(head.id, job, events);
    } catch (refused) {
      this.places.release(client);
      job.abort.abort();
      throw refused;
    }
    return job.builder.resource();
  }

  private begin(id: string, job: Job, events: AsyncIterable<AnswerEvent>): void {
    this.jobs.set(id, job);
    if (job.stream !== undefined) this.addLog(id, job.caller, job.stream.log);
    publish(job);
    const reading = this.read(id, job, events).finally(() => this.reading.delete(reading));
    this.reading.add(reading);
  }

  /** Resource of a caller's unfinished response; undefined for all others. */
  running(id: string, caller: Caller): ResponseResource | undefined {
    return this.jobOf(id, caller)?.builder.resource();
  }

  /** Cancels a caller's unfinished response. Throws `response_not_found`, `response_not_cancellable`. */
  cancel(id: string, caller: Caller): ResponseResource {
    const job = this.jobOf(id, caller);
    if (job === undefined) {
      const resource = this.options.store(caller).resource(id);
      const { status, background } = resource;
      if (status === "cancelled") return resource; // a client that did not get the first answer asks again
      const why = background ? `it is already ${status}` : "it was created without background: true";
      throw new ServiceError("response_not_cancellable", `the response cannot be cancelled: ${why}`);
    }
    job.builder.cancel();
    this.settle(id, job);
    return job.builder.resource();
  }

  /** Reader of the frames after a sequence number; undefined if the response did not stream or its log was evicted. */
  frames(id: string, after: number, { owner }: Caller): FrameReader | undefined {
    const found = this.logs.get(id);
    return found?.caller.owner === owner ? found?.log.reader(after) : undefined;
  }

  /** Deletes the frames of a response, which ends their readers. */
  forget(id: string, { owner }: Caller): void {
    if (this.logs.get(id)?.caller.owner !== owner) return;
    this.logs.get(id)?.log.end();
    this.logs.delete(id);
  }

  /** Fails all running responses because the server stops; resolves when all read loops have ended. */
  async close(): Promise<void> {
    for (const [id, job] of this.jobs) {
      const message = "the server stopped before this response was finished";
      job.builder.add({ type: "error", error: { code: "shutting_down", message } });
      this.settle(id, job);
    }
    await Promise.all(this.reading);
  }

  private jobOf(id: string, { owner }: Caller): Job | undefined {
    const job = this.jobs.get(id);
    return job?.caller.owner === owner ? job : undefined;
  }

  private newJob(call: ResponsesCall, head: ResponseHead, caller: Caller): Job {
    const { names, run } = call;
    const options = { head, choices: run.choices, names, clock: this.options.clock };
    const abort = new AbortController();
    if (!call.stream) return { call, caller, builder: new ResponseBuilder(options), abort };
    const encoder = new ResponseStream(options);
    return { call, caller, builder: encoder.builder, abort, stream: { encoder, log: new FrameLog() } };
  }

  /** Reads a run to its end. Never rejects. */
  private async read(id: string, job: Job, events: AsyncIterable<AnswerEvent>): Promise<void> {
    const { builder } = job;
    try {
      for await (const event of events) {
        if (builder.isFinal) break; // cancelled in the meantime
        builder.add(event);
        publish(job);
      }
      assert(builder.isFinal, "run ended without its terminal event");
    } catch (thrown) {
      if (!builder.isFinal) builder.add({ type: "error", error: this.options.failureOf(thrown) });
    }
    this.settle(id, job);
  }

  /** Stores a final response and aborts its run. Only the first call for a response has an effect. */
  private settle(id: string, job: Job): void {
    if (!this.jobs.delete(id)) return;
    this.places.release(job.caller.client);
    job.abort.abort();
    try {
      this.options.store(job.caller).keep(job.call, job.builder);
    } catch (thrown) {
      this.options.failureOf(thrown); // only logged: no client is waiting
    }
    publish(job);
    job.stream?.log.end();
  }

  /** Adds a log and evicts logs of finished responses beyond FRAME_LOGS_MAX, of the client with the most first. */
  private addLog(id: string, caller: Caller, log: FrameLog): void {
    this.logs.set(id, { log, caller });
    const finished = [...this.logs].filter(([key]) => !this.jobs.has(key));
    const holders = finished.map(([key, one]) => ({ item: key, client: one.caller.client }));
    for (const key of leastWorthBeyond(FRAME_LOGS_MAX, holders) ?? []) this.logs.delete(key);
  }
}

/** Appends the encoder's new frames to the log, which wakes its readers. */
function publish({ stream }: Job): void {
  stream?.log.add(stream.encoder.take());
}
