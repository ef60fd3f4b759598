// Streams a run. Its status waits for `accepted` as long as a client would wait without a sign of life; then the stream begins
// without it, with keep-alive comments and, where asked for, reports on the loading model. Knows no dialect.
// Reports are ordinary chunks with an empty delta: the official client fails on events with other names.

import type { AnswerEvent } from "../core/agent.ts";
import { defined } from "../core/defined.ts";
import type { LoadProgress } from "../core/run.ts";
import type { FrameEncoder } from "../dialects/shared/frame.ts";
import type { HttpDeps } from "./deps.ts";
import { toErrorData } from "./errors.ts";
import { KEEP_ALIVE_MS } from "./limits.ts";
import { observed } from "./observe.ts";
import { type Accepted, framesOf, type StartedRun, type StartOptions } from "./run.ts";
import { type FrameSource, sseResponse } from "./sse.ts";

export interface StreamedRun<E extends AnswerEvent> {
  /** Starts the run; see startRun. */
  readonly start: (options: StartOptions) => Promise<StartedRun<E>>;
  /** The encoder of its events. Made for a run that is not accepted yet where the stream has to begin before that. */
  readonly encoderOf: (accepted: Accepted) => FrameEncoder<E>;
  /** As in SseOptions. */
  readonly idleFrame?: string;
  /** Sends the frames; absent: as server-sent events. */
  readonly respond?: (source: FrameSource, abort: AbortController) => Response;
}

/** What is known of a run that is not accepted. */
const NOT_ACCEPTED: Accepted = { type: "accepted", promptTokens: 0 };

/** The stream's response. Throws the ServiceError of a run that is refused before the stream has begun. */
export async function streamRun<E extends AnswerEvent>(
  deps: Pick<HttpDeps, "log" | "keepAliveMs">,
  { start, encoderOf, idleFrame, respond }: StreamedRun<E>,
): Promise<Response> {
  const abort = new AbortController();
  const keepAliveMs = deps.keepAliveMs ?? KEEP_ALIVE_MS;
  const loading = new LoadFrames((event) => encoderOf(NOT_ACCEPTED).add(event));
  const starting = start({ abort, onLoading: (event) => loading.push(event) });
  const settled = starting.then(
    () => true,
    () => true,
  );
  const isStarted = await Promise.race([settled, loading.begun, after(keepAliveMs, settled)]);
  const send =
    respond ?? ((source) => sseResponse(source, { abort, keepAliveMs, ...defined({ idleFrame }) }));
  const framesOfStarted = (started: StartedRun<E>): FrameSource =>
    framesOf(started, encoderOf(started.accepted), deps.log);
  if (isStarted) return send(framesOfStarted(await starting), abort); // refused: its status says so
  const frames = starting.then(framesOfStarted, (thrown: unknown) => {
    const error = toErrorData(thrown, deps.log);
    observed()?.streamFailed(error.code);
    const encoder = encoderOf(NOT_ACCEPTED);
    return failure(encoder.add(NOT_ACCEPTED) + encoder.add({ type: "error", error }));
  });
  const source: FrameSource = {
    next: async () => (await loading.next(settled)) ?? (await frames).next(),
    close: async () => (await frames).close(),
  };
  return send(source, abort);
}

/** False after some time, unless `settled` comes first. */
async function after(ms: number, settled: Promise<unknown>): Promise<false> {
  const { promise, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), ms);
  void settled.then(() => clearTimeout(timer));
  return promise;
}

/** A stream that ends with the error of a run that was not accepted. */
function failure(frame: string): FrameSource {
  let isSent = false;
  return {
    next: async () => {
      if (isSent) return undefined;
      isSent = true;
      return frame;
    },
    close: async () => {},
  };
}

/** Frames of reports on the loading model. */
class LoadFrames {
  /** False, once there has been a report. */
  readonly begun: Promise<false>;
  private readonly encode: (event: LoadProgress) => string;
  private readonly frames: string[] = [];
  private readonly first = Promise.withResolvers<false>();
  private more = Promise.withResolvers<void>();

  constructor(encode: (event: LoadProgress) => string) {
    this.encode = encode;
    this.begun = this.first.promise;
  }

  push(event: LoadProgress): void {
    this.frames.push(this.encode(event));
    this.first.resolve(false);
    this.more.resolve();
  }

  /** The next frame; undefined once the run has started or failed, and all were taken. */
  async next(settled: Promise<unknown>): Promise<string | undefined> {
    if (this.frames.length === 0) await Promise.race([settled, this.more.promise]);
    const frame = this.frames.shift();
    if (this.frames.length === 0) this.more = Promise.withResolvers();
    return frame;
  }
}
