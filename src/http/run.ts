// Starts a run for a request and waits for its first event, which decides the HTTP status: errors before `accepted`
// travel as a status, later ones in-band. Knows no dialect.

import { assert } from "../core/assert.ts";
import { ServiceError } from "../core/error.ts";
import type { AnswerEvent } from "../core/agent.ts";
import type { Caller } from "../core/caller.ts";
import type { LoadProgress, RunEvent } from "../core/run.ts";
import type { FrameEncoder } from "../dialects/shared/frame.ts";
import type { HttpDeps } from "./deps.ts";
import { type LogLine, toErrorData } from "./errors.ts";
import { callerOf, observed } from "./observe.ts";
import type { FrameSource } from "./sse.ts";

/** Suggested pause before asking a stopping server's successor, seconds. */
const DRAIN_RETRY_SECS = 5;

/** The events of a run, and the way to let go of them; an async generator, but for what `return` gives. */
export interface RunEvents<E extends AnswerEvent = RunEvent> extends AsyncIterable<E> {
  next(): Promise<IteratorResult<E, unknown>>;
  return(value: undefined): Promise<unknown>;
}

export type Accepted = Extract<RunEvent, { type: "accepted" }>;

/** A run that the engine has accepted. */
export interface StartedRun<E extends AnswerEvent = RunEvent> {
  readonly accepted: Accepted;
  /** All events, from `accepted` on. */
  readonly events: RunEvents<E>;
  /** Aborts when the client is gone; the one way to end the run early. */
  readonly abort: AbortController;
}

/** The other end of a request. */
export interface Client {
  readonly caller: Caller;
  /** Aborted when it is gone. */
  readonly signal: AbortSignal;
}

export function clientOf(request: Request): Client {
  return { caller: callerOf(request), signal: request.signal };
}

/** How a start can be watched. */
export interface StartOptions {
  /** Ends the run; a new one by default. */
  readonly abort?: AbortController;
  /** Told how far the model is loaded, where the run asks for that. */
  readonly onLoading?: (event: LoadProgress) => void;
}

/**
 * Starts a run bound to the client's connection. Throws the ServiceError of a run that is refused, with its status.
 * The caller must drain `events` or abort.
 */
export async function startRun<R, E extends AnswerEvent>(
  generate: (request: R, signal: AbortSignal, caller: Caller) => AsyncIterable<E>,
  run: R,
  { caller, signal }: Client,
  { abort = new AbortController(), onLoading }: StartOptions = {},
): Promise<StartedRun<E>> {
  endWith(abort, signal);
  const source = generate(run, abort.signal, caller)[Symbol.asyncIterator]();
  let first = await source.next();
  while (first.done !== true && first.value.type === "load_progress") {
    onLoading?.(first.value);
    first = await source.next();
  }
  if (first.done === true) {
    assert(abort.signal.aborted, "a run ended without an event");
    throw cancelled();
  }
  if (first.value.type === "error") {
    await source.return?.(); // lets the engine's side clean up before the answer
    throw ServiceError.fromData(first.value.error);
  }
  const accepted: AnswerEvent = first.value;
  assert(accepted.type === "accepted", `a run began with ${accepted.type}`);
  observed()?.accepted(accepted);
  return { accepted, events: resume<E>(first.value, source), abort };
}

/** Ends some work when its client is gone. */
export function endWith(abort: AbortController, client: AbortSignal): AbortController {
  if (client.aborted) abort.abort();
  else client.addEventListener("abort", () => abort.abort(), { once: true });
  return abort;
}

/** Not a generator: one that has not begun would not pass `return` on. */
function resume<E extends AnswerEvent>(first: E, source: AsyncIterator<E>): RunEvents<E> {
  let taken = false;
  const events = {
    next() {
      if (taken) return source.next();
      taken = true;
      return Promise.resolve({ done: false, value: first });
    },
    async return() {
      await source.return?.();
      return { done: true as const, value: undefined };
    },
    [Symbol.asyncIterator]: () => events,
  };
  return events;
}

/** Feeds all events of a run to a fold, which throws for an `error` event. */
export async function foldRun<E extends AnswerEvent>(
  started: StartedRun<E>,
  fold: { add(event: E): void },
): Promise<void> {
  try {
    for await (const event of started.events) fold.add(event);
  } catch (thrown) {
    started.abort.abort(); // no reader for the rest
    throw thrown;
  }
  if (started.abort.signal.aborted) throw cancelled();
}

/** Prompt tokens of a run that was started for their sake; nothing else of it is awaited. */
export async function countPrompt<E extends AnswerEvent>({ events, abort }: StartedRun<E>): Promise<number> {
  const first = await events.next();
  abort.abort();
  await events.return(undefined);
  assert(first.done !== true && first.value.type === "accepted", "a started run begins with accepted");
  return first.value.promptTokens;
}

/** Waits for a single answer. A client that leaves ends the work, which is then no failure of it. */
export async function untilClientLeaves<T>(
  work: (signal: AbortSignal, caller: Caller) => Promise<T>,
  { caller, signal }: Client,
): Promise<T> {
  try {
    return await work(signal, caller);
  } catch (thrown) {
    throw signal.aborted ? cancelled() : thrown;
  }
}

/** Answers a client that has disconnected. Never read; keeps a cancelled run from being logged as a bug. */
export function cancelled(): ServiceError {
  return new ServiceError("model_unavailable", "the request was cancelled");
}

/**
 * The frames of a run in one dialect. Whatever goes wrong after `accepted`, a throw or a run that stops without its
 * terminal event included, ends the stream in-band, so the client never takes a cut answer for a complete one.
 */
export function framesOf<E extends AnswerEvent>(
  started: StartedRun<E>,
  encoder: FrameEncoder<E>,
  log: LogLine,
): FrameSource {
  const { events, abort } = started;
  const seen = observed();
  let ended = false;
  const nextEvent = async (): Promise<E | RunEvent | undefined> => {
    try {
      const next = await events.next();
      if (next.done !== true) return next.value;
      assert(abort.signal.aborted, "a run stopped without its terminal event");
      return undefined;
    } catch (thrown) {
      return { type: "error", error: toErrorData(thrown, log) };
    }
  };
  return {
    async next() {
      while (!ended) {
        const event = await nextEvent();
        ended = event === undefined || event.type === "finish" || event.type === "error";
        if (event !== undefined) seen?.streamedEvent(event);
        const frame = event === undefined ? "" : encoder.add(event);
        if (frame !== "") return frame;
      }
      return undefined;
    },
    close: async () => void (await events.return(undefined)),
  };
}

/** Throws `shutting_down` once the server has begun to stop. */
export function refuseWhileDraining(deps: HttpDeps): void {
  if (deps.draining?.() !== true) return;
  throw new ServiceError("shutting_down", "the server is shutting down and accepts no new requests", {
    retryAfterSecs: DRAIN_RETRY_SECS,
  });
}
