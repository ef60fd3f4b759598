// Responses that go on without their client. Each is stored when it is accepted and when it is final; between, its
// builder says how far it is.

import type { AnswerEvent, Converse } from "../core/agent.ts";
import { assert } from "../core/assert.ts";
import { type ErrorData, ServiceError } from "../core/error.ts";
import { BACKGROUND_RUNS_MAX, FRAME_LOGS_MAX } from "./limits.ts";
import { ResponseBuilder } from "../dialects/responses/builder.ts";
import type { ResponsesCall } from "../dialects/responses/request.ts";
import type { ResponseHead, ResponseResource } from "../dialects/responses/resource.ts";
import { ResponseStream } from "../dialects/responses/stream.ts";
import { FrameLog, type FrameReader } from "./frame-log.ts";
import type { ResponseStore } from "./store.ts";

export interface BackgroundOptions {
  readonly converse: Converse;
  readonly store: ResponseStore;
  /** What a client is told of something thrown; logs what is a bug. */
  readonly failureOf: (thrown: unknown) => ErrorData;
  /** The time, Unix seconds. */
  readonly clock: () => number;
}

/** A response that is being made. */
interface Job {
  readonly call: ResponsesCall;
  readonly builder: ResponseBuilder;
  readonly abort: AbortController;
  /** Where its frames come from and go to, if they may be asked for. */
  readonly stream?: { readonly encoder: ResponseStream; readonly log: FrameLog };
}

/** The background responses of a server. */
export class BackgroundResponses {
  private readonly options: BackgroundOptions;
  private readonly jobs = new Map<string, Job>();
  /** Runs that are being read, cancelled ones included. */
  private readonly reading = new Set<Promise<void>>();
  /** Logs of running and of the latest finished responses, oldest first. */
  private readonly logs = new Map<string, FrameLog>();

  constructor(options: BackgroundOptions) {
    this.options = options;
  }

  /** Starts a response and returns it as it stands: queued. Throws what refuses it at once. */
  start(call: ResponsesCall, head: ResponseHead): ResponseResource {
    if (this.jobs.size >= BACKGROUND_RUNS_MAX) {
      throw new ServiceError("queue_full", "too many background responses are running; try again later");
    }
    const job = this.newJob(call, head);
    const events = this.options.converse({ run: call.run, agent: call.agent }, job.abort.signal);
    job.builder.queue();
    try {
      this.options.store.keep(call, job.builder);
    } catch (refused) {
      job.abort.abort();
      throw refused;
    }
    this.jobs.set(head.id, job);
    if (job.stream !== undefined) this.addLog(head.id, job.stream.log);
    publish(job);
    const reading = this.read(head.id, job, events).finally(() => this.reading.delete(reading));
    this.reading.add(reading);
    return job.builder.resource();
  }

  /** A response that is not finished; undefined for any other. */
  running(id: string): ResponseResource | undefined {
    return this.jobs.get(id)?.builder.resource();
  }

  /** Ends a response that is not finished. Throws `response_not_found`, `response_not_cancellable`. */
  cancel(id: string): ResponseResource {
    const job = this.jobs.get(id);
    if (job === undefined) {
      const { status, background } = this.options.store.resource(id);
      const why = background ? `it is ${status} already` : "it does not run in the background";
      throw new ServiceError("response_not_cancellable", `the response cannot be cancelled: ${why}`);
    }
    job.builder.cancel();
    this.settle(id, job);
    return job.builder.resource();
  }

  /** Frames after a sequence number, of a response that was asked to stream; undefined when there are none any more. */
  frames(id: string, after: number): FrameReader | undefined {
    return this.logs.get(id)?.reader(after);
  }

  /** Forgets the frames of a response, which ends their readers. */
  forget(id: string): void {
    this.logs.get(id)?.end();
    this.logs.delete(id);
  }

  /** Fails what still runs, as the server stops; resolves once nothing is read any more. */
  async close(): Promise<void> {
    for (const [id, job] of this.jobs) {
      const message = "the server stopped before this response was finished";
      job.builder.add({ type: "error", error: { code: "shutting_down", message } });
      this.settle(id, job);
    }
    await Promise.all(this.reading);
  }

  private newJob(call: ResponsesCall, head: ResponseHead): Job {
    const { names, run } = call;
    const options = { head, choices: run.choices, names, clock: this.options.clock };
    const abort = new AbortController();
    if (!call.stream) return { call, builder: new ResponseBuilder(options), abort };
    const encoder = new ResponseStream(options);
    return { call, builder: encoder.builder, abort, stream: { encoder, log: new FrameLog() } };
  }

  /** Reads a run to its end. Never rejects. */
  private async read(id: string, job: Job, events: AsyncIterable<AnswerEvent>): Promise<void> {
    const { builder } = job;
    try {
      for await (const event of events) {
        if (builder.isFinal) break; // cancelled meanwhile
        builder.add(event);
        publish(job);
      }
      assert(builder.isFinal, "a run stopped without its terminal event");
    } catch (thrown) {
      if (!builder.isFinal) builder.add({ type: "error", error: this.options.failureOf(thrown) });
    }
    this.settle(id, job);
  }

  /** Stores what is final and lets go of the run; once, whoever comes first. */
  private settle(id: string, job: Job): void {
    if (!this.jobs.delete(id)) return;
    job.abort.abort();
    try {
      this.options.store.keep(job.call, job.builder);
    } catch (thrown) {
      this.options.failureOf(thrown); // nobody is there to be told; the log is
    }
    publish(job);
    job.stream?.log.end();
  }

  /** Beyond the bound, the oldest logs of finished responses go. */
  private addLog(id: string, log: FrameLog): void {
    this.logs.set(id, log);
    const finished = [...this.logs.keys()].filter((key) => !this.jobs.has(key));
    for (const key of finished.slice(0, Math.max(0, finished.length - FRAME_LOGS_MAX))) this.logs.delete(key);
  }
}

/** Hands what the encoder was told to those who read along. */
function publish({ stream }: Job): void {
  stream?.log.add(stream.encoder.take());
}
