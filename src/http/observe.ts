// Watches every request from its arrival to the last byte of its answer, for the metrics and the access log. Works for
// any route: code that reads a body or writes a stream finds the request's observation through `observed()`. Never sees
// a prompt.
// A recorder passed through every route would be missing silently where one forgets it.

import { assert } from "../core/assert.ts";
import { AsyncLocalStorage } from "node:async_hooks";
import type { Account } from "../core/account.ts";
import { type Caller, type Place, SERVER, type Watch } from "../core/caller.ts";
import type { AnswerEvent } from "../core/agent.ts";
import type { CompatKind } from "../core/compat.ts";
import type { ErrorCode, ServiceError } from "../core/error.ts";
import type { ModelAliases } from "./model-alias.ts";
import type { Quotas } from "../core/quota.ts";
import type { ModelInfo } from "../core/model-info.ts";
import type { HttpMetrics, ObservedRequest } from "../core/telemetry.ts";
import type { RequestTrace, Tracer } from "../core/tracing.ts";
import type { Admission, Arrived } from "./admission.ts";
import type { BodyPace } from "./body-pace.ts";
import { connectionOf } from "./connection.ts";
import { requestId } from "./hooks/request-id.ts";
import { PayloadRecord, type TakePayload } from "./payloads.ts";
import { abilityOf, kindOfRuns, modelLabel, NO_MODEL, UNKNOWN_MODEL } from "./request-model.ts";
import { requestSpan, traceOf } from "./request-trace.ts";
import { type RouteRule, ruleOf } from "./route-rules.ts";
import { isHousekeeping, type ModelField, type PathEntry, type RouteTable } from "./route-table.ts";
import { pathOf, settleTarget } from "./target.ts";

export interface ObserverOptions {
  readonly routes: () => RouteTable;
  /** Served models; the default one comes first. */
  readonly models: () => readonly ModelInfo[];
  /** Other names of models; absent: none. */
  readonly aliases?: ModelAliases | undefined;
  readonly metrics?: HttpMetrics | undefined;
  /** Takes each finished request. */
  readonly accessLog?: ((request: ObservedRequest) => void) | undefined;
  /** Told of each request that is served although the interface refuses it. */
  readonly servedAs?: (kind: CompatKind) => void;
  /** How slowly bodies may come; absent: as limits.ts says. */
  readonly bodyPace?: BodyPace | undefined;
  /** Takes what each request for a model, and its answer, said. */
  readonly payloads?: TakePayload | undefined;
  /** Follows requests to models; absent: none are traced. */
  readonly tracer?: Tracer | undefined;
  /** Limits of keys, of which answers tell; absent: there are none. */
  readonly quotas?: Quotas | undefined;
  /** Decides which requests are let in; absent: all. */
  readonly admission?: Admission | undefined;
  /** The answer to one that is not. */
  readonly refused?: (refusal: ServiceError, seen: ObservedRequest) => Response;
}

type Handle = (request: Request, ...rest: unknown[]) => unknown;

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** The MCP endpoint: its tool names the model. */
const MCP = "/mcp";

/** Paths of the dialect whose clients read limits under names of their own. */
const TYPED_LIMITS = /^\/v1\/messages(?:\/|$)/;

/** Names what a request was served in the nearest right way. */
const COMPAT_HEADER = "x-svc-compat";
/** Words of that header, and values of a request that may be among them. */
const COMPAT_WORDS_MAX = 16;
const NAMEABLE = /^[\w.:-]{1,64}$/;

/** Names the places of the request's schemas to which the answer is not held. */
const UNENFORCED_HEADER = "x-svc-unenforced";
/** Tokens of the prompt, which a svc in front of this one states when its own run is accepted. */
const PROMPT_TOKENS_HEADER = "x-svc-prompt-tokens";
/** Fields that a log line names. */
const UNENFORCED_MAX = 20;

/** Logged and counted for a client that left before its answer; never sent. As proxies have it. */
const LEFT_STATUS = 499;

const current = new AsyncLocalStorage<Observation>();

/** The observation of the request that is being handled; undefined outside of one. */
export function observed(): Observation | undefined {
  return current.getStore();
}

const callers = new WeakMap<Request, Caller>();

/** On whose behalf a request is handled. */
export function callerOf(request: Request): Caller {
  const caller = callers.get(request);
  assert(caller !== undefined, "a request is let in before it is handled");
  return caller;
}

/** Wraps the application's handler, so that every request is observed, also those that no route fits. */
export function observing(options: ObserverOptions): (handle: Handle) => Handle {
  return (handle) =>
    (request, ...rest) => {
      settleTarget(request);
      const seen = new Observation(request, options);
      const answer = seen.begin(() => current.run(seen, () => handle(request, ...rest)));
      if (!(answer instanceof Promise)) return seen.answered(answer);
      return answer.then(
        (response: unknown) => seen.answered(response),
        (thrown: unknown) => {
          seen.failed();
          throw thrown;
        },
      );
    };
}

/** One request. */
export class Observation implements ObservedRequest, Watch {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly route: string | undefined;
  readonly housekeeping: boolean;
  /** Who may have an answer. */
  readonly rule: RouteRule;
  model: string;
  bodyBytes: number | undefined;
  streamBytes: number | undefined;
  status = 0;
  error: string | undefined;
  clientLeft = false;
  seconds = 0;
  readonly compat = new Set<CompatKind>();
  private readonly compatWords = new Set<string>();
  readonly unenforced: string[] = [];
  readonly bodyPace: BodyPace | undefined;
  private readonly options: ObserverOptions;
  private readonly request: Request;
  private readonly modelField: ModelField | undefined;
  private readonly payload: PayloadRecord | undefined;
  private promptTokens: number | undefined;
  private place: Place | undefined;
  private account: Account | undefined;
  queueSecs: number | undefined;
  trace: RequestTrace | undefined;
  private readonly startMs = performance.now();
  private lastTokenMs: number[] | undefined; // [choices], once there is a token
  private isAnswered = false;
  private streamEnded = false;
  private isFinished = false;

  constructor(request: Request, options: ObserverOptions) {
    this.options = options;
    this.bodyPace = options.bodyPace;
    this.request = request;
    this.id = requestId(request);
    const { method, url } = request;
    this.method = METHODS.has(method) ? method : "OTHER";
    this.path = pathOf(url);
    const entry = options.routes().match(this.path);
    this.route = entry?.pattern;
    const announced = request.headers.get("access-control-request-method");
    this.rule = ruleOf(method === "OPTIONS" ? (announced ?? "GET") : method, this.path, entry?.path);
    this.housekeeping = method === "OPTIONS" || (entry?.housekeeping ?? isHousekeeping(this.path));
    this.modelField = entry?.bodyModels.get(method);
    this.model = this.firstModel(entry);
    const isRecorded =
      options.payloads !== undefined && (this.modelField !== undefined || this.route === MCP);
    this.payload = isRecorded ? new PayloadRecord(request.headers) : undefined;
    options.metrics?.began(this);
  }

  /** Has the request handled, if it is let in, on behalf of its caller. */
  begin(handle: () => unknown): unknown {
    const { admission, refused } = this.options;
    const admitted = admission?.admit(this.arrived()) ?? { caller: SERVER };
    const { caller, refusal, turn } = admitted;
    this.account = caller.account;
    const trace = traceOf(this.id, this.request.headers);
    if (this.modelField === "model") {
      const { traceparent } = trace;
      this.trace = this.options.tracer?.begin({ id: this.id, traceparent });
    }
    const own = this.trace === undefined ? {} : { traceparent: this.trace.traceparent };
    callers.set(this.request, { ...caller, watch: this, trace: { ...trace, ...own } });
    if (refusal !== undefined) {
      this.error = refusal.code;
      return refused?.(refusal, this);
    }
    this.place = caller.place;
    return turn === undefined ? handle() : turn.then(handle);
  }

  private arrived(): Arrived {
    const { request, housekeeping, route, modelField } = this;
    return {
      headers: request.headers,
      peer: () => connectionOf(request)?.peer() ?? "",
      housekeeping,
      kind: modelField === "model" ? kindOfRuns(route) : undefined,
    };
  }

  /** A JSON body was read; undefined when it could not be parsed. */
  bodyRead(bytes: number, json?: Readonly<Record<string, unknown>>): void {
    this.bodyBytes = bytes;
    this.payload?.asked(json ?? null);
    if (this.modelField !== undefined && json !== undefined) this.model = this.label(json[this.modelField]);
  }

  /** The request is served although the interface refuses it. */
  servedAs(kind: CompatKind, what = ""): void {
    this.compat.add(kind);
    const words = NAMEABLE.test(what) ? `${kind}=${what}` : kind;
    if (this.compatWords.size < COMPAT_WORDS_MAX) this.compatWords.add(words);
    this.options.servedAs?.(kind);
  }

  /** The model that the request means, where its name is not the one in the body. */
  named(model: string): void {
    this.model = this.label(model);
  }

  /** A run of the request was accepted. */
  accepted({ promptTokens, unenforced = [] }: Extract<AnswerEvent, { type: "accepted" }>): void {
    this.promptTokens = (this.promptTokens ?? 0) + promptTokens;
    this.unenforced.push(...unenforced.slice(0, UNENFORCED_MAX).map(headerText));
  }

  /** The answer is a stream; it goes on until `streamEnd`. */
  streamBegin(): void {
    this.streamBytes = 0;
    this.status = 200;
  }

  streamSent(part: Uint8Array): void {
    assert(this.streamBytes !== undefined, "a stream begins before it sends");
    this.streamBytes += part.byteLength;
    this.payload?.sent(part);
  }

  /** Call it before the stream is closed: then its connection is already gone. Idempotent. */
  streamEnd(clientLeft: boolean): void {
    if (this.streamEnded) return;
    this.streamEnded = true;
    this.clientLeft ||= clientLeft;
    this.finishIfDone();
  }

  /** A run of the request has waited for its turn. */
  queued(seconds: number): void {
    this.queueSecs = (this.queueSecs ?? 0) + seconds;
    const endMs = performance.now();
    this.trace?.add({ name: "queue", startMs: endMs - seconds * 1000, endMs });
  }

  /** Name of the key that it came with. */
  get key(): string | undefined {
    return this.account?.name;
  }

  /** A part of a speech was made. */
  spoke(seconds: number): void {
    this.options.metrics?.spoke(this, seconds);
  }

  /** The stream breaks off. */
  streamFailed(code: ErrorCode): void {
    this.error = code;
  }

  /** An event of a run whose answer is streamed. */
  streamedEvent(event: AnswerEvent): void {
    if (event.type === "error") this.error = event.error.code;
    if (!isWriting(event)) return;
    const { metrics } = this.options;
    const nowMs = performance.now();
    if (this.lastTokenMs === undefined) metrics?.firstToken(this, (nowMs - this.startMs) / 1000);
    this.lastTokenMs ??= [];
    const lastMs = this.lastTokenMs[event.choice];
    this.lastTokenMs[event.choice] = nowMs;
    if (lastMs !== undefined) metrics?.nextToken(this, (nowMs - lastMs) / 1000);
  }

  /** The handler is done; returns its answer. */
  answered(answer: unknown): unknown {
    this.isAnswered = true;
    if (answer instanceof Response) {
      this.status = answer.status;
      this.payload?.answered(answer);
      if (this.compat.size > 0) answer.headers.set(COMPAT_HEADER, [...this.compatWords].join(", "));
      if (this.promptTokens !== undefined && answer.ok)
        answer.headers.set(PROMPT_TOKENS_HEADER, String(this.promptTokens));
      for (const [name, value] of this.limitHeaders()) answer.headers.set(name, value);
      if (this.unenforced.length > 0) answer.headers.set(UNENFORCED_HEADER, this.unenforced.join(", "));
    }
    if (this.streamBytes !== undefined && !this.streamEnded) {
      // The writer of the stream reports its end; a client that leaves before the first read is seen only here.
      this.request.signal.addEventListener("abort", () => this.streamEnd(true), { once: true });
    } else if (this.modelField !== undefined || this.status >= 400) {
      this.clientLeft ||= this.request.signal.aborted;
    }
    if (this.clientLeft && this.status >= 400) this.unanswered();
    this.finishIfDone();
    return answer;
  }

  /** What is left of its key's limits, for answers of models. */
  private limitHeaders(): readonly (readonly [string, string])[] {
    if (this.account === undefined || this.modelField !== "model") return [];
    const form = TYPED_LIMITS.test(this.path) ? "messages" : "openai";
    return Object.entries(this.options.quotas?.headers(this.account, form) ?? {});
  }

  /** No client got the answer, and the error is only what became of its work: neither the model's fault nor the request's. */
  private unanswered(): void {
    this.status = LEFT_STATUS;
    this.error = undefined;
  }

  /** The application could not even make an error of it: the server under it answers 500. */
  failed(): void {
    this.status = 500;
    this.answered(undefined);
  }

  private finishIfDone(): void {
    const isOpen = this.streamBytes !== undefined && !this.streamEnded;
    if (!this.isAnswered || isOpen || this.isFinished) return;
    this.isFinished = true;
    this.place?.release();
    connectionOf(this.request)?.answered();
    this.seconds = (performance.now() - this.startMs) / 1000;
    this.options.metrics?.finished(this);
    this.endTrace();
    this.options.accessLog?.(this);
    const { payloads } = this.options;
    if (payloads !== undefined) void this.payload?.finish(this, payloads);
  }

  private endTrace(): void {
    this.trace?.end(requestSpan(this, this.startMs));
  }

  private firstModel(entry: PathEntry | undefined): string {
    if (this.modelField !== undefined) return UNKNOWN_MODEL;
    if (entry?.queryModels.has(this.method) !== true) return NO_MODEL;
    return this.label(new URL(this.request.url).searchParams.get("model"));
  }

  private label(sent: unknown): string {
    const { models, aliases } = this.options;
    return modelLabel({ models, aliases }, sent, abilityOf(this.route));
  }
}

/** Output of the model, as opposed to events about it. */
type Writing = Extract<AnswerEvent, { type: "text" | "reasoning" | "tool_call_start" | "tool_call_args" }>;
const WRITING: ReadonlySet<string> = new Set<Writing["type"]>([
  "text",
  "reasoning",
  "tool_call_start",
  "tool_call_args",
]);

function isWriting(event: AnswerEvent): event is Writing {
  return WRITING.has(event.type);
}

/** A place in a schema, whose names may have any characters, as a header may hold it. */
function headerText(place: string): string {
  return place.slice(0, 200).replaceAll(/[^!-+\--~]/gu, (char) => encodeURIComponent(char.toWellFormed()));
}
