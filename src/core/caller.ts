// Caller of the current request, for code below the HTTP layer: the request queue shares places among clients,
// stores show records to their owner. Knows neither HTTP nor keys.

import { AsyncLocalStorage } from "node:async_hooks";

/** Caller of a request. */
export interface Caller {
  /** Shares the request queue with others as one: a key, else an address. */
  readonly client: string;
  /** Whose records it makes and sees. Absent without API keys: records are shared. */
  readonly owner?: string;
  /** The place that the request took when it arrived. */
  readonly place?: Place;
  /** Trace headers for upstream servers, so that their logs can be joined with ours. */
  readonly trace?: Trace;
}

/** Identifies a request across servers. */
export interface Trace {
  readonly requestId: string;
  /** W3C trace context, as the client sent it. */
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** A place in the bounded number of requests that a server works on. */
export interface Place {
  /** A run of the request has entered a request queue. */
  enteredQueue(): void;
  /** A run of the request, or all of it, has ended: others may have the place. Idempotent. */
  release(): void;
}

const callers = new AsyncLocalStorage<Caller>();

/** The caller of the request at hand; undefined outside of one. */
export function currentCaller(): Caller | undefined {
  return callers.getStore();
}

/** Does something on behalf of a caller; what it starts is on their behalf, too. */
export function asCaller<T>(caller: Caller, work: () => T): T {
  return callers.run(caller, work);
}

/** Does something on behalf of the server itself, which sees all records. */
export function asServer<T>(work: () => T): T {
  return callers.run({ client: "" }, work);
}

/**
 * Makes what later does things on behalf of the present caller, no matter which request runs it: the pull of a stream does not come
 * from the request's handler.
 */
export function onBehalf(): <T>(work: () => T) => T {
  const caller = currentCaller();
  return caller === undefined ? (work) => work() : (work) => asCaller(caller, work);
}
