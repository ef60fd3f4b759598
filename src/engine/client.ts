// The serving process's side of one engine: starts it, restarts it when it ends, and turns its messages into the events of
// each run. Knows no dialect and no policy about requests.

import { itemAt } from "../core/assert.ts";
import { type AdapterId, BASE_MODEL } from "../core/adapter.ts";
import type { Caller } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import type { Ability } from "../core/model-info.ts";
import { ServiceError, type ErrorData } from "../core/error.ts";
import { unlessAborted, withAbort } from "../core/with-abort.ts";
import { TEMPLATE_TRIAL_MS } from "./limits.ts";
import type { ImageEvent, ImageRequest } from "../core/image.ts";
import {
  type EmbedRequest,
  type EmbedResult,
  type RankRequest,
  type RunEvent,
  type RunRequest,
  WorkLeft,
} from "../core/run.ts";
import type { SpeakRequest, SpeechEvent } from "../core/speech.ts";
import { mustBeAble, mustPerceive } from "./abilities.ts";
import type { EngineClientDeps } from "./client-deps.ts";
import {
  deathWhileLoading,
  ENGINE_DIED,
  ENGINE_HUNG,
  type Failed,
  failedRun,
  HUNG_LOADING,
  STOPPED,
  TEMPLATE_LOOPS,
  unavailable,
} from "./death.ts";
import type { EngineHost } from "../core/system.ts";
import type { DeviceReadings } from "../core/telemetry.ts";
import type { CalibrationCounts } from "../core/requantize.ts";
import type { EngineLink } from "./host.ts";
import { DeviceFaults } from "./device-fault.ts";
import { Pending } from "./pending.ts";
import { queueBounds, RequestQueue } from "./request-queue.ts";
import { Restarts } from "./restarts.ts";
import { type EngineWatch, waitsOf, watchProcess } from "./watch.ts";
import type { CalibrationCommand, EngineEvent, EngineInfo, FromEngine, RunId, ToEngine } from "./protocol.ts";

/** loading: not usable yet; ready; failed: loading failed, a restart follows; stopped: permanently. */
export type EngineState = "loading" | "ready" | "failed" | "stopped";

export class EngineClient {
  state: EngineState = "loading";
  info: EngineInfo | undefined;
  /** The machine as the engine found it; kept after the process has ended. */
  host: EngineHost | undefined;
  /** Devices besides the CPU, as the present process has seen them last. */
  readings: DeviceReadings | undefined;
  /** Copies of evicted prefixes in its memory, bytes, as the process reported last. */
  copiedBytes = 0;
  private readonly deps: EngineClientDeps;
  private link: EngineLink | undefined;
  private watch: EngineWatch | undefined;
  private readonly pending = new Pending();
  /** Sends a message that is not a request; dropped while there is no process. */
  private readonly command = (message: ToEngine): void => this.link?.send(message);
  private readonly queue: RequestQueue;
  private settled = Promise.withResolvers<void>(); // the current start has succeeded or failed
  private lastError: ErrorData | undefined;
  private trial: ReturnType<typeof setTimeout> | undefined; // of the chat template
  private restarting = false; // the process was ready and is ending; requests wait for the next one
  private readonly restarts = new Restarts(() => this.reopen());
  private readonly faults: DeviceFaults;
  private hung = false; // the present process was killed because it did not answer

  constructor(deps: EngineClientDeps) {
    this.deps = deps;
    this.faults = new DeviceFaults(deps.options, deps.log);
    this.queue = new RequestQueue(queueBounds(deps.options, deps.queueMax));
    this.open();
  }

  /** Process id of the engine; undefined without a process. */
  get pid(): number | undefined {
    return this.link?.pid;
  }

  /** Waits until the model is loaded. Throws ServiceError(model_unavailable) with the reason when it can't be. */
  async ready(): Promise<EngineInfo> {
    while (this.state === "loading") await this.settled.promise;
    if (this.state === "ready" && this.info !== undefined) return this.info;
    if (this.lastError !== undefined) throw ServiceError.fromData(this.lastError);
    throw unavailable("The model is not loaded. Try again soon.");
  }

  /** Continues text; see `run`. */
  generate(
    request: RunRequest,
    signal: AbortSignal,
    caller: Caller,
    adapter: AdapterId = BASE_MODEL,
  ): AsyncGenerator<RunEvent> {
    const { options } = this.deps;
    const scope = options.kind === "text" && options.cacheScope === "all" ? undefined : caller.owner;
    const by = { ...(adapter === BASE_MODEL ? {} : { adapter }), ...defined({ scope }) };
    return this.run<RunEvent>(
      () => this.mustTake(request),
      (id) => ({ type: "run", id, request, ...by }),
      signal,
      caller,
      request.countOnly !== true, // which needs no sequence
    );
  }

  /** Generates images; see `run`. */
  draw(request: ImageRequest, signal: AbortSignal, caller: Caller): AsyncGenerator<ImageEvent> {
    const begin = (id: RunId): ToEngine => ({ type: "draw", id, request });
    return this.run<ImageEvent>(() => this.mustBeAble("draws"), begin, signal, caller);
  }

  /** Speaks; see `run`. The engine is granted one more piece for each one that the reader has taken (backpressure). */
  async *speak(request: SpeakRequest, signal: AbortSignal, caller: Caller): AsyncGenerator<SpeechEvent> {
    let speech: RunId = 0;
    const begin = (id: RunId): ToEngine => ({ type: "speak", id: (speech = id), request });
    for await (const event of this.run<SpeechEvent>(() => this.mustBeAble("speaks"), begin, signal, caller)) {
      yield event;
      if (event.type === "speech" && !event.isLast) this.command({ type: "speak_on", id: speech });
    }
  }

  /** Embeds texts, or scores documents (vectors of one element). Throws ServiceError; on abort as `Embed`. */
  async embed(
    request: EmbedRequest | RankRequest,
    signal: AbortSignal,
    caller: Caller,
  ): Promise<EmbedResult> {
    const leave = await this.admit(signal, caller);
    const id = this.pending.newId();
    const answer = this.pending.embedding(id);
    const abort = (): void => this.link?.send({ type: "abort", id }); // it answers how far it came
    try {
      this.mustBeAble("documents" in request ? "ranks" : "embeds");
      signal.throwIfAborted();
      this.link?.send({ type: "embed", id, request });
      const result = await withAbort(signal, abort, answer.promise);
      if (signal.aborted) throw new WorkLeft(signal.reason, result.promptTokens);
      return result;
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new WorkLeft(signal.reason, error instanceof WorkLeft ? error.promptTokens : 0);
    } finally {
      this.pending.forget(id);
      leave();
    }
  }

  /** Changes the compute threads of a loaded engine, from its next step on; for measuring. */
  setThreads(threads: number, threadsBatch: number): void {
    this.link?.send({ type: "threads", threads, threadsBatch });
  }

  /** Calibrates. Rejects with the engine's ServiceError, or when the engine dies. */
  async calibrate(command: CalibrationCommand): Promise<CalibrationCounts> {
    await this.ready();
    const id = this.pending.newId();
    const answer = this.pending.calibration(id);
    this.command({ type: "calibrate", id, command });
    try {
      return await answer.promise;
    } finally {
      this.pending.forget(id);
    }
  }

  /** Ends the engine process; open runs fail. */
  async stop(): Promise<void> {
    this.state = "stopped";
    this.restarts.stop();
    this.settled.resolve();
    await this.link?.stop();
  }

  /**
   * Sends a request and yields its events, `E`: exactly one terminal event at the end, or none when the signal was aborted. A
   * request that arrives during a restart waits for the engine.
   */
  private async *run<E extends EngineEvent>(
    check: () => void,
    messageOf: (id: RunId) => ToEngine,
    signal: AbortSignal,
    caller: Caller,
    needsTurn = true,
  ): AsyncGenerator<E | Failed> {
    let leave: (() => void) | undefined;
    try {
      leave = await this.admit(signal, caller, needsTurn);
      check();
    } catch (error) {
      leave?.();
      if (signal.aborted) return;
      yield failedRun(error);
      return;
    }
    if (signal.aborted) return leave(); // it was aborted before the listener below
    const id = this.pending.newId();
    const queue = this.pending.events<E>(id, leave); // released at its last event, even if the reader is slow
    const abort = (): void => {
      if (this.pending.endRun(id)) caller.leaves?.(this.pending.left(id));
      this.link?.send({ type: "abort", id });
      queue.close();
    };
    signal.addEventListener("abort", abort, { once: true });
    try {
      this.link?.send(messageOf(id));
      yield* queue;
    } finally {
      signal.removeEventListener("abort", abort);
      if (this.pending.expects(id)) abort(); // the reader stopped early
    }
  }

  /** Waits for a place in the queue and a ready engine; see RequestQueue.enter. */
  private async admit(signal: AbortSignal, caller: Caller, needsTurn = true): Promise<() => void> {
    const leave = await this.queue.enter(caller, signal, needsTurn);
    try {
      if (this.state !== "ready") await this.untilReady(signal);
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  private async untilReady(signal: AbortSignal): Promise<void> {
    this.restarts.requested();
    try {
      await unlessAborted(signal, this.ready());
    } catch (error) {
      const isRemote = error instanceof ServiceError && error.code === "rpc_worker_lost";
      if (signal.aborted || isRemote) throw error;
      // The reason is for the operator's log only: it may name files of the server.
      throw unavailable("The model could not be loaded. The server's log says why; loading is retried.");
    }
  }

  private mustBeAble(ability: Ability): void {
    if (this.info !== undefined) mustBeAble(this.deps.name, this.info, ability);
  }

  private mustTake(request: RunRequest): void {
    this.mustBeAble("generates");
    if (this.info !== undefined) mustPerceive(this.deps.name, this.info, request);
  }

  private open(): void {
    this.state = "loading";
    this.lastError = undefined;
    this.restarts.started();
    this.link = this.deps.openLink({
      onMessage: (message) => this.receive(message),
      onExit: (description) => this.exited(description),
    });
    this.hung = false;
    this.link.send({ type: "start", options: this.faults.options });
    this.watch = this.watchOver(this.link);
  }

  private watchOver(link: EngineLink): EngineWatch | undefined {
    const { timeoutMs, log, meter } = this.deps;
    if (timeoutMs === undefined) return undefined;
    return watchProcess(link, timeoutMs, (why) => {
      log(`the engine process hangs (${why}); killing it. ${waitsOf(link.pid)}`.trim());
      meter?.hung();
      this.hung = true;
      this.giveUp(HUNG_LOADING, link);
    });
  }

  /** Kills a hung process. Requests wait for the next one at once, because this one may end late. */
  private giveUp(why = HUNG_LOADING, link = this.link): void {
    if (this.state === "ready") this.awaitRestart();
    else this.failToLoad(why);
    this.pending.failAll(ENGINE_HUNG);
    link?.kill();
  }

  private failToLoad(death: ErrorData): void {
    this.lastError = death;
    this.restarts.diedLoading();
  }

  private awaitRestart(): void {
    this.settled = Promise.withResolvers<void>();
    this.state = "loading";
    this.restarting = true;
  }

  private receive(message: FromEngine): void {
    this.watch?.heard();
    clearTimeout(this.trial);
    switch (message.type) {
      case "pong":
        break;
      case "loading":
        this.deps.onLoading?.(message.permille);
        break;
      case "placed":
        this.faults.receive(message);
        break;
      case "trying_template":
        this.trial = setTimeout(() => this.giveUp(TEMPLATE_LOOPS), this.deps.templateMs ?? TEMPLATE_TRIAL_MS);
        break;
      case "ready":
        this.info = { ...message.info, ...defined({ deviceFault: this.faults.fault }) };
        this.warnOfTemplate(message.info);
        this.host = message.host;
        this.state = "ready";
        this.restarts.loaded();
        this.deps.adapters?.attach(this.command);
        this.lastError = undefined;
        this.deps.onLoading?.(1000);
        this.settled.resolve();
        break;
      case "failed":
        // The process is idle; it is stopped to free its memory, and onExit schedules the next start.
        this.lastError = message.error;
        if (this.info !== undefined) this.deps.log(message.error.message); // the first start is reported by its waiter
        void this.link?.stop();
        break;
      case "log":
        this.deps.log(message.line);
        break;
      case "adapter_loaded":
      case "adapter_failed":
        this.deps.adapters?.receive(message);
        break;
      case "embedded":
      case "embed_failed":
      case "embed_left":
      case "calibration":
      case "calibration_failed":
        this.pending.answer(message);
        break;
      case "stats":
        this.copiedBytes = message.stats.tierBytes;
        this.deps.meter?.report({ ...message.stats, waiting: message.stats.waiting + this.queue.waiting });
        break;
      case "devices":
        this.readings = { atMs: performance.now(), devices: message.devices };
        this.deps.meter?.saw(this.readings);
        break;
      case "events":
        message.events.forEach((event, i) => this.pending.deliver(itemAt(message.runs, i), event));
        break;
    }
  }

  private warnOfTemplate(info: EngineInfo): void {
    const parts = info.kind === "text" ? (info.leavesOut ?? []) : [];
    if (parts.length > 0) this.deps.log(`warning: the chat template leaves out: ${parts.join("; ")}`);
  }

  private exited(description: string): void {
    this.link = undefined;
    this.copiedBytes = 0;
    this.readings = undefined;
    clearTimeout(this.trial);
    this.watch?.stop();
    this.deps.adapters?.detach(this.command);
    this.deps.meter?.ended(this.state !== "stopped");
    if (this.state === "ready") this.awaitRestart();
    const loss = this.deps.lossOf?.();
    this.pending.failAll(this.state === "stopped" ? STOPPED : (loss ?? ENGINE_DIED));
    if (this.state === "stopped") return;
    const error = this.lastError?.message;
    const toCpu = this.faults.ended({ description, hung: this.hung, error, isRemote: loss !== undefined });
    if (toCpu && !this.restarting) return this.open(); // loading goes on there
    if (this.restarting) {
      this.restarting = false;
      this.deps.log(`the engine process ended unexpectedly (${description}); restarting it`);
      this.restarts.diedLoaded();
    } else {
      if (this.lastError === undefined) this.failToLoad(loss ?? deathWhileLoading(description));
      this.state = "failed";
      this.settled.resolve();
    }
    if (!this.restarts.schedule()) this.deps.log(`${this.lastError?.message} The next request retries it.`);
  }

  private reopen(): void {
    if (this.state === "failed") this.settled = Promise.withResolvers<void>();
    this.open();
  }
}
