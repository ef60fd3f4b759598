// A model run by upstream servers: attempts, retries and fallbacks over a pool. For the model registry it is a model like any
// other.

import { currentCaller } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import type { ImageEvent, ImageRequest } from "../core/image.ts";
import { modalitiesOf, type Modality } from "../core/message.ts";
import type { ModelStatus } from "../core/model-info.ts";
import type { IdleControl, RuntimeFacts, ModelRuntime, TextFacts } from "../core/model-runtime.ts";
import type { EmbedRequest, EmbedResult, RankRequest, RunEvent, RunRequest } from "../core/run.ts";
import type { SpeakRequest, SpeechEvent } from "../core/speech.ts";
import type { SystemUpstream } from "../core/system.ts";
import { attempt } from "./attempt.ts";
import { blocksOf, keyOf } from "./blocks.ts";
import { countedTokens, estimatedTokens } from "./count.ts";
import { fieldsOf, unsupportedBy } from "./engines.ts";
import type { Failure } from "./failure.ts";
import { drawUpstream } from "./images.ts";
import { BACKOFF_MS } from "./limits.ts";
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

export class UpstreamModel implements ModelRuntime {
  readonly host = undefined;
  readonly idle = NEVER_IDLE;
  readonly hasFailed = false;
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
    const message = `The model "${this.options.name}" runs on upstream servers, so svc cannot unload it. Name a model that runs here.`;
    throw new ServiceError("unsupported_capability", message, { param: "model_id" });
  }

  async stop(): Promise<void> {
    this.pool.stop();
  }

  async *generate(request: RunRequest, signal: AbortSignal): AsyncGenerator<RunEvent> {
    const leave = this.enter();
    try {
      await this.load();
      const refused =
        request.countOnly === true
          ? yield* this.count(request, signal)
          : yield* this.attempts(request, signal);
      if (refused !== undefined) yield* this.fallBack(refused, request, signal);
    } finally {
      leave();
    }
  }

  async *draw(request: ImageRequest, signal: AbortSignal): AsyncGenerator<ImageEvent> {
    const work = async (lease: Lease): Promise<readonly ImageEvent[] | Failure> =>
      drawUpstream(request, lease.server, signal);
    try {
      yield* await this.whole(work, JSON.stringify(request.prompt), signal);
    } catch (thrown) {
      yield* errorEvent(thrown, signal);
    }
  }

  async *speak(request: SpeakRequest, signal: AbortSignal): AsyncGenerator<SpeechEvent> {
    try {
      yield* await this.whole((lease) => speakUpstream(request, lease.server, signal), request.text, signal);
    } catch (thrown) {
      yield* errorEvent(thrown, signal);
    }
  }

  async embed(request: EmbedRequest | RankRequest, signal: AbortSignal): Promise<EmbedResult> {
    const work = (lease: Lease): Promise<EmbedResult | Failure> =>
      "documents" in request
        ? rankUpstream(request, lease.server, signal)
        : embedUpstream(request, lease.server, signal);
    try {
      return await this.whole(work, "", signal);
    } catch (thrown) {
      if (!(thrown instanceof ServiceError) || !FALLS_BACK.has(thrown.code)) throw thrown;
      for (const { id, model } of this.options.fallbacks()) {
        try {
          const result = await model.embed({ ...request, model: id }, signal);
          this.pool.counts.fallbacks++;
          return result;
        } catch {
          // The next one may be able to.
        }
      }
      throw thrown;
    }
  }

  /** Counts a run. What is returned ends it, and gives the caller's place to others. */
  private enter(): () => void {
    const place = currentCaller()?.place;
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
  ): AsyncGenerator<RunEvent, ErrorEvent | undefined> {
    const startedMs = performance.now();
    const requirements = this.wantedBy(request);
    const refused = this.refusalOf(request, requirements);
    if (refused !== undefined) return refused;
    const { retries, firstTokenMs } = this.options.routing;
    const tried = new Set<UpstreamServer>();
    const wanted: Wanted = { ...requirements, tried };
    let failed: Failure | undefined;
    for (let retry = 0; ; retry++) {
      let lease: Lease;
      try {
        lease = await this.acquire(wanted, failed, signal);
      } catch (thrown) {
        return refusalEvent(thrown, signal);
      }
      const failure = yield* attempt(lease, { request, firstTokenMs, startedMs }, signal);
      if (failure === undefined || signal.aborted) return undefined;
      if (!failure.mayRetry || retry >= retries) return { type: "error", error: failure.error.toData() };
      this.pool.counts.retries++;
      failed = failure;
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
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, BACKOFF_MS * 2 ** retry);
    signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    clearTimeout(timer);
  }

  /** Other models, each with its own checks and its own upstreams or engine. The first error stays where none can. */
  private async *fallBack(
    refused: ErrorEvent,
    request: RunRequest,
    signal: AbortSignal,
  ): AsyncGenerator<RunEvent> {
    const fallbacks: readonly Fallback[] = FALLS_BACK.has(refused.error.code) ? this.options.fallbacks() : [];
    for (const { id, model } of fallbacks) {
      if (signal.aborted) return;
      const events = model.generate({ ...request, model: id }, signal);
      const first = await events.next();
      if (first.done === true) return;
      if (first.value.type === "error") {
        await events.return(undefined);
        continue;
      }
      this.pool.counts.fallbacks++;
      yield first.value.type === "accepted" ? { answeredBy: id, ...first.value } : first.value;
      yield* events;
      return;
    }
    yield refused;
  }

  /** A request that is only counted. */
  private async *count(request: RunRequest, signal: AbortSignal): AsyncGenerator<RunEvent, undefined> {
    const promptTokens = await this.countOf(request, signal);
    if (signal.aborted) return;
    yield { type: "accepted", promptTokens };
    const usage = { promptTokens, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 };
    yield { type: "finish", usage, timings: { promptSecs: 0, completionSecs: 0 } };
  }

  private async countOf(request: RunRequest, signal: AbortSignal): Promise<number> {
    const server = this.pool.servers.find(({ health, isKnown }) => isKnown && !health.isCooling);
    const counted = server && (await countedTokens(request, server, signal));
    return counted ?? estimatedTokens(request.prompt);
  }

  /** Requests with a single response: embeddings, scores, images, speech. Throws ServiceError. */
  private async whole<T extends object>(
    work: (lease: Lease) => Promise<T | Failure>,
    text: string,
    signal: AbortSignal,
  ): Promise<T> {
    const leave = this.enter();
    try {
      await this.load();
      const { retries } = this.options.routing;
      const tried = new Set<UpstreamServer>();
      const prompt = { type: "text", text } as const;
      const accepts = ({ options }: UpstreamServer): boolean => options.dialect !== "messages"; // it has no such requests
      const wanted = { blocks: [], key: keyOf(prompt), accepts, tried };
      let failed: Failure | undefined;
      for (let retry = 0; ; retry++) {
        const lease = await this.acquire(wanted, failed, signal);
        const done = await finished(lease, work, signal);
        if (!isFailure(done)) return done;
        if (!done.mayRetry || retry >= retries) throw done.error;
        this.pool.counts.retries++;
        failed = done;
        await this.pause(tried, lease.server, retry, signal);
      }
    } finally {
      leave();
    }
  }

  private wantedBy(request: RunRequest): Omit<Wanted, "tried"> {
    const blocks = this.options.routing.policy === "prefix" ? blocksOf(request.prompt) : [];
    const fields = fieldsOf(request);
    const modalities = request.prompt.type === "chat" ? modalitiesOf(request.prompt.messages) : [];
    return {
      blocks,
      key: blocks[0] ?? keyOf(request.prompt),
      accepts: (server) =>
        unsupportedBy(server.facts.engine, server.options.dialect, fields) === undefined &&
        missingIn(server.modalities, modalities) === undefined,
    };
  }

  /** The refusal of a request that no upstream can honour, naming the field. */
  private refusalOf(request: RunRequest, { accepts }: Pick<Wanted, "accepts">): ErrorEvent | undefined {
    const known = this.pool.servers.filter(({ isKnown }) => isKnown);
    const servers = known.length > 0 ? known : this.pool.servers;
    if (servers.some(accepts)) return undefined;
    const fields = fieldsOf(request);
    const [server] = servers;
    const field = server && unsupportedBy(server.facts.engine, server.options.dialect, fields);
    const engines = [...new Set(servers.map(({ apiName }) => apiName))].join(", ");
    const { name } = this.options;
    const message =
      field === undefined
        ? `No upstream server of the model "${name}" takes media of these kinds. Leave them out, or name another model.`
        : `No upstream server of the model "${name}" (${engines}) supports ${fields.get(field)}. Leave it out, or name another model.`;
    const param = field === undefined ? "messages" : (fields.get(field) ?? field);
    return { type: "error", error: new ServiceError("unsupported_capability", message, { param }).toData() };
  }

  private facts(): RuntimeFacts {
    return this.options.kind === "text" ? this.textFacts() : { kind: this.options.kind };
  }

  /** Combined capabilities: the shortest context, media that any upstream accepts. */
  private textFacts(): TextFacts {
    const known = this.pool.servers.filter(({ isKnown }) => isKnown);
    const contexts = known.flatMap(({ facts }) => facts.contextTokens ?? []);
    const contextTokens =
      this.options.contextTokens ?? (contexts.length === 0 ? undefined : Math.min(...contexts));
    const takes = (modality: Modality): boolean =>
      known.length === 0 || known.some((server) => server.modalities?.includes(modality) ?? true);
    const { servers } = this.pool;
    const whole = servers.filter(({ options }) => options.dialect !== "messages");
    return {
      kind: "text",
      ...defined({ contextTokens }),
      generates: true,
      embeds: whole.some(({ isKnown, facts }) => !isKnown || (facts.embeds ?? true)),
      ranks: whole.length > 0,
      fillsGaps: false,
      thinks: known.some(({ facts }) => facts.thinks ?? true),
      modalities: (["image", "audio"] as const).filter(takes),
    };
  }
}

function missingIn(
  stated: readonly Modality[] | undefined,
  wanted: readonly Modality[],
): Modality | undefined {
  return stated === undefined ? undefined : wanted.find((modality) => !stated.includes(modality));
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

function isFailure(done: object): done is Failure {
  return "verdict" in done && "mayRetry" in done;
}

function refusalEvent(thrown: unknown, signal: AbortSignal): ErrorEvent | undefined {
  if (signal.aborted) return undefined;
  if (!(thrown instanceof ServiceError)) throw thrown;
  return { type: "error", error: thrown.toData() };
}

function* errorEvent(thrown: unknown, signal: AbortSignal): Generator<ErrorEvent> {
  const event = refusalEvent(thrown, signal);
  if (event !== undefined) yield event;
}
