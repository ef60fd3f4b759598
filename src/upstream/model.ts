// A model run by upstream servers: attempts, retries and fallbacks over a pool. For the model registry it is a model like any
// other.

import type { Caller } from "../core/caller.ts";
import { ServiceError } from "../core/error.ts";
import type { ImageEvent, ImageRequest } from "../core/image.ts";
import type { ModelStatus } from "../core/model-info.ts";
import type { IdleControl, ModelRuntime, RuntimeFacts } from "../core/model-runtime.ts";
import type { EmbedRequest, EmbedResult, RankRequest, RunEvent, RunRequest } from "../core/run.ts";
import type { SpeakRequest, SpeechEvent } from "../core/speech.ts";
import type { SystemUpstream } from "../core/system.ts";
import { honours, type Needs, needsOf, refusalBy, textFactsOf } from "./abilities.ts";
import { pause } from "../core/with-abort.ts";
import { attempt } from "./attempt.ts";
import { blocksOf, keyOf } from "./blocks.ts";
import { countedTokens } from "./count.ts";
import { estimatedTokens, refuseBeyond, withinBound } from "./estimate.ts";
import { type Field, vectorFieldsOf } from "./engines.ts";
import type { Failure } from "./failure.ts";
import { drawUpstream } from "./images.ts";
import { BACKOFF_MS, SILENCE_MS } from "./limits.ts";
import type { Fallback, UpstreamModelOptions } from "./options.ts";
import { type Lease, Pool, type Wanted } from "./pool.ts";
import type { UpstreamServer } from "./server.ts";
import { speakUpstream } from "./speech.ts";
import { embedUpstream, rankUpstream } from "./vectors.ts";

/** Errors that permit a fallback model: they concern the servers, not the request. */
const FALLS_BACK: ReadonlySet<string> = new Set(["upstream_failed", "model_unavailable", "queue_full"]);

/** An upstream model stays where it is. */
const NEVER_IDLE: IdleControl = { leftMs: undefined, set: () => undefined };

type ErrorEvent = Extract<RunEvent, { type: "error" }>;

/** A request with a single response. */
interface WholeWork<T> {
  readonly work: (lease: Lease) => Promise<T | Failure>;
  /** What the home of the request is chosen by. */
  readonly text: string;
  readonly fields: ReadonlyMap<Field, string>;
  readonly path: string;
  readonly signal: AbortSignal;
  readonly caller: Caller;
}

/** A request for an image or speech. */
interface MadeCall<E> extends Omit<WholeWork<readonly E[]>, "fields"> {
  readonly fallBack: (fallback: Fallback) => AsyncGenerator<E>;
}

const NO_FIELDS: ReadonlyMap<Field, string> = new Map();

export class UpstreamModel implements ModelRuntime {
  readonly host = undefined;
  readonly idle = NEVER_IDLE;
  readonly failedLoad = undefined;
  readonly pool: Pool;
  private readonly options: UpstreamModelOptions;
  private started: Promise<void> | undefined;
  private runs = 0;

  constructor(options: UpstreamModelOptions) {
    this.options = options;
    this.pool = new Pool(options);
  }

  get status(): ModelStatus {
    return this.pool.isUsable ? "loaded" : "unloaded";
  }

  get activeRuns(): number {
    return this.runs;
  }

  get upstreams(): readonly SystemUpstream[] {
    return this.pool.servers.map((server) => server.describe());
  }

  get known(): RuntimeFacts | undefined {
    return this.pool.servers.some(({ isKnown }) => isKnown) ? this.facts() : undefined;
  }

  get info(): RuntimeFacts | undefined {
    return this.known;
  }

  async load(): Promise<RuntimeFacts> {
    await (this.started ??= this.pool.start());
    await this.pool.complete();
    return this.facts();
  }

  /** Resolves also if no upstream answers; requests then fail. */
  loadedInfo(): Promise<RuntimeFacts> {
    return this.load();
  }

  /** Probes all upstreams again. */
  async reload(): Promise<RuntimeFacts> {
    this.started = this.pool.start();
    return this.load();
  }

  async unload(): Promise<void> {
    const message = `the model "${this.options.name}" runs on upstream servers, so svc cannot unload it; name a model that runs here`;
    throw new ServiceError("unsupported_capability", message, { param: "model_id" });
  }

  async stop(): Promise<void> {
    this.pool.stop();
  }

  async *generate(asked: RunRequest, signal: AbortSignal, caller: Caller): AsyncGenerator<RunEvent> {
    const leave = this.enter(caller);
    const request = withinBound(asked);
    try {
      await this.load();
      const refused =
        request.countOnly === true
          ? yield* this.count(request, signal, caller)
          : yield* this.attempts(request, signal, caller);
      const ask = ({ id, model }: Fallback): AsyncGenerator<RunEvent> =>
        model.generate({ ...asked, model: id }, signal, caller);
      if (refused !== undefined) yield* this.fallBack(refused, ask, signal);
    } finally {
      leave();
    }
  }

  draw(request: ImageRequest, signal: AbortSignal, caller: Caller): AsyncGenerator<ImageEvent> {
    return this.made<ImageEvent>({
      text: request.prompt,
      path: "/images/generations",
      signal,
      caller,
      work: ({ server }) => drawUpstream(request, server, signal, caller),
      fallBack: ({ id, model }) => model.draw({ ...request, model: id }, signal, caller),
    });
  }

  speak(request: SpeakRequest, signal: AbortSignal, caller: Caller): AsyncGenerator<SpeechEvent> {
    return this.made<SpeechEvent>({
      text: request.text,
      path: "/audio/speech",
      signal,
      caller,
      work: ({ server }) => speakUpstream(request, server, signal, caller),
      fallBack: ({ id, model }) => model.speak({ ...request, model: id }, signal, caller),
    });
  }

  async embed(
    request: EmbedRequest | RankRequest,
    signal: AbortSignal,
    caller: Caller,
  ): Promise<EmbedResult> {
    refuseBeyond(request);
    const work = ({ server }: Lease): Promise<EmbedResult | Failure> =>
      "documents" in request
        ? rankUpstream(request, server, signal, caller)
        : embedUpstream(request, server, signal, caller);
    try {
      const path = "documents" in request ? "/rerank" : "/embeddings";
      return await this.whole({ work, text: "", fields: vectorFieldsOf(request), path, signal, caller });
    } catch (thrown) {
      if (!(thrown instanceof ServiceError) || !FALLS_BACK.has(thrown.code)) throw thrown;
      for (const { id, model } of this.options.fallbacks()) {
        try {
          const result = await model.embed({ ...request, model: id }, signal, caller);
          this.pool.counts.fallbacks++;
          return result;
        } catch {
          // The next one may be able to.
        }
      }
      throw thrown;
    }
  }

  /** Events of an image or speech. Once an upstream may have begun with one, no other is asked for it. */
  private async *made<E extends ImageEvent | SpeechEvent>(call: MadeCall<E>): AsyncGenerator<E | ErrorEvent> {
    const { text, path, signal, caller, fallBack } = call;
    let mayRepeat = true;
    const work = async (lease: Lease): Promise<readonly E[] | Failure> => {
      const done = await call.work(lease);
      mayRepeat = !isFailure(done) || done.mayRetry;
      return done;
    };
    let refused: ErrorEvent | undefined;
    try {
      yield* await this.whole({ work, text, fields: NO_FIELDS, path, signal, caller });
    } catch (thrown) {
      refused = refusalEvent(thrown, signal);
    }
    if (refused === undefined) return;
    if (mayRepeat) yield* this.fallBack<E>(refused, fallBack, signal);
    else yield refused;
  }

  /** Counts a run. What is returned ends it, and gives the caller's place to others. */
  private enter({ place }: Caller): () => void {
    place?.enteredQueue();
    this.runs++;
    return () => {
      this.runs--;
      place?.release();
    };
  }

  /** Attempts on the pool until one answers. Returns an error that the client has not seen. */
  private async *attempts(
    request: RunRequest,
    signal: AbortSignal,
    caller: Caller,
  ): AsyncGenerator<RunEvent, ErrorEvent | undefined> {
    const startedMs = performance.now();
    const needs = needsOf(request);
    const refused = refusalBy(this.pool.servers, needs, this.options.name);
    if (refused !== undefined) return { type: "error", error: refused.toData() };
    const { firstTokenMs, silenceMs = SILENCE_MS } = this.options.routing;
    const options = { request, caller, firstTokenMs, silenceMs, startedMs };
    const sought = { ...this.wantedBy(request, needs), client: caller.client };
    try {
      yield* this.tries(sought, signal, (lease) => attempt(lease, options, signal));
      return undefined;
    } catch (thrown) {
      return refusalEvent(thrown, signal);
    }
  }

  /** Has upstreams do some work until one has. Throws the ServiceError of the last one that failed. */
  private async *tries<E, T>(
    sought: Omit<Wanted, "tried">,
    signal: AbortSignal,
    work: (lease: Lease) => AsyncGenerator<E, T | Failure> | Promise<T | Failure>,
  ): AsyncGenerator<E, T> {
    const { retries } = this.options.routing;
    const tried = new Set<UpstreamServer>();
    let failed: Failure | undefined;
    for (let retry = 0; ; retry++) {
      const lease = await this.acquire({ ...sought, tried }, failed, signal);
      const working = work(lease);
      const done = working instanceof Promise ? await working : yield* working;
      if (!isFailure(done)) return done;
      signal.throwIfAborted();
      if (!done.mayRetry || retry >= retries) throw done.error;
      this.pool.counts.retries++;
      failed = done;
      await this.pause(tried, lease.server, retry, signal);
    }
  }

  /** A lease for an attempt. The failure of the last one says more than that no upstream is left. */
  private async acquire(wanted: Wanted, failed: Failure | undefined, signal: AbortSignal): Promise<Lease> {
    try {
      return await this.pool.acquire(wanted, signal);
    } catch (thrown) {
      throw (!signal.aborted && failed?.error) || thrown;
    }
  }

  /** Before the same upstream is asked again, some time passes. */
  private async pause(
    tried: Set<UpstreamServer>,
    server: UpstreamServer,
    retry: number,
    signal: AbortSignal,
  ): Promise<void> {
    tried.add(server);
    if (this.pool.servers.some((other) => !tried.has(other) && other.health.isAvailable)) return;
    await pause(BACKOFF_MS * 2 ** retry, signal);
  }

  /** Other models, each with its own checks and its own upstreams or engine. The first error stays where none can. */
  private async *fallBack<E extends { readonly type: string }>(
    refused: ErrorEvent,
    ask: (fallback: Fallback) => AsyncGenerator<E>,
    signal: AbortSignal,
  ): AsyncGenerator<E | ErrorEvent> {
    const fallbacks: readonly Fallback[] = FALLS_BACK.has(refused.error.code) ? this.options.fallbacks() : [];
    for (const fallback of fallbacks) {
      if (signal.aborted) return;
      const events = ask(fallback);
      const first = await events.next();
      if (first.done === true) return;
      if (first.value.type === "error") {
        await events.return(undefined);
        continue;
      }
      this.pool.counts.fallbacks++;
      yield first.value.type === "accepted" ? { answeredBy: fallback.id, ...first.value } : first.value;
      yield* events;
      return;
    }
    yield refused;
  }

  /** A request that is only counted. */
  private async *count(
    request: RunRequest,
    signal: AbortSignal,
    caller: Caller,
  ): AsyncGenerator<RunEvent, undefined> {
    const promptTokens = await this.countOf(request, signal, caller);
    if (signal.aborted) return;
    yield { type: "accepted", promptTokens };
    const usage = { promptTokens, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 };
    yield { type: "finish", usage, timings: { promptSecs: 0, completionSecs: 0 } };
  }

  private async countOf(request: RunRequest, signal: AbortSignal, caller: Caller): Promise<number> {
    const server = this.pool.servers.find(({ health, isKnown }) => isKnown && !health.isCooling);
    const counted = server && (await countedTokens(request, server, signal, caller));
    return counted ?? estimatedTokens(request.prompt);
  }

  /** Requests with a single response: embeddings, scores, images, speech. Throws ServiceError. */
  private async whole<T extends object>(whole: WholeWork<T>): Promise<T> {
    const { work, text, fields, path, signal, caller } = whole;
    const leave = this.enter(caller);
    try {
      await this.load();
      const needs: Needs = { fields, modalities: [], path };
      const refused = refusalBy(this.pool.servers, needs, this.options.name);
      if (refused !== undefined) throw refused;
      const accepts = (server: UpstreamServer): boolean => honours(server, needs);
      const sought = { client: caller.client, blocks: [], key: keyOf({ type: "text", text }), accepts };
      const steps = this.tries<never, T>(sought, signal, (lease) => finished(lease, work, signal));
      return (await steps.next()).value;
    } finally {
      leave();
    }
  }

  private wantedBy({ prompt }: RunRequest, needs: Needs): Omit<Wanted, "tried" | "client"> {
    const blocks = this.options.routing.policy === "prefix" ? blocksOf(prompt) : [];
    return { blocks, key: blocks[0] ?? keyOf(prompt), accepts: (server) => honours(server, needs) };
  }

  private facts(): RuntimeFacts {
    const { kind, contextTokens } = this.options;
    return kind === "text" ? textFactsOf(this.pool.servers, contextTokens) : { kind };
  }
}

async function finished<T extends object>(
  lease: Lease,
  work: (lease: Lease) => Promise<T | Failure>,
  signal: AbortSignal,
): Promise<T | Failure> {
  try {
    const done = await work(lease);
    if (isFailure(done)) {
      signal.throwIfAborted();
      lease.release(done.verdict.type === "well" ? "refused" : "failed", done.verdict);
    } else lease.release("answered", { type: "well" });
    return done;
  } finally {
    lease.release("aborted");
  }
}

function isFailure(done: unknown): done is Failure {
  return typeof done === "object" && done !== null && "verdict" in done && "mayRetry" in done;
}

function refusalEvent(thrown: unknown, signal: AbortSignal): ErrorEvent | undefined {
  if (signal.aborted) return undefined;
  if (!(thrown instanceof ServiceError)) throw thrown;
  return { type: "error", error: thrown.toData() };
}
