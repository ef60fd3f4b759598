// Who a piece of work is done for. Travels as a value from the HTTP layer, which alone knows who asks, to queues, records, caches and
// upstream servers. Knows neither HTTP nor keys.

import type { Account } from "./account.ts";
import type { Usage } from "./run.ts";
import type { RequestTrace } from "./tracing.ts";

/** Caller of a request: the one place that says what belongs to whom. */
export interface Caller {
  /** Shares queues and places with others as one: a key, else an address. */
  readonly client: string;
  /** Whose records it makes and sees, and whose cached prompts. Absent without API keys: all are shared. */
  readonly owner?: string;
  /** Name, role and limits of who asks. Absent where no key is needed: then everybody may do everything. */
  readonly account?: Account;
  /** Learns what becomes of its work. */
  readonly watch?: Watch;
  /** The place that the request took when it arrived. */
  readonly place?: Place;
  /** Its work goes after that of all others. Called when another request wants its place. */
  readonly yields?: () => void;
  /** Name of the model under which the tokens of its answer are counted; absent: the model's own. */
  readonly countedAs?: string;
  /** Takes what a run that is broken off has spent, once its engine has stopped it; undefined: the engine has died. */
  readonly leaves?: (spent: Promise<Usage | undefined>) => void;
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

/** Learns what becomes of a caller's work. */
export interface Watch {
  /** A run has waited so long for its turn, seconds. */
  queued(seconds: number): void;
  /** Takes the steps of the work; absent where requests are not traced. */
  readonly trace?: RequestTrace | undefined;
}

/** A place in the bounded number of requests that a server works on. */
export interface Place {
  /** A run of the request has entered a request queue. */
  enteredQueue(): void;
  /** A run of the request, or all of it, has ended: others may have the place. Idempotent. */
  release(): void;
}

/** What a caller has of something that all callers share. */
export type ForCaller<T> = (caller: Caller) => T;

/** The server itself, and the user of a terminal. It sees all records. */
export const SERVER: Caller = { client: "" };
