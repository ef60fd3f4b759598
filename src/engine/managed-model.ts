// A served model through its life: loaded when it is wanted, unloaded when told, when nobody uses it or when its place is
// needed. A request never fails because its model comes or goes: it waits until the model is there, and a model goes only
// when its requests have ended. At most one engine process of a model exists at any time, but while another takes over.

import { type AdapterId, BASE_MODEL } from "../core/adapter.ts";
import { currentCaller } from "../core/caller.ts";
import { ServiceError } from "../core/error.ts";
import { FairShare } from "../core/fair-share.ts";
import { reasonOf } from "../core/reason.ts";
import { FAILED_LOAD_MS } from "./limits.ts";
import type { ModelStatus } from "../core/model-info.ts";
import type { ModelRuntime } from "../core/model-runtime.ts";
import type { ImageEvent, ImageRequest } from "../core/image.ts";
import type { EmbedRequest, EmbedResult, RankRequest, RunEvent, RunRequest } from "../core/run.ts";
import type { SpeakRequest, SpeechEvent } from "../core/speech.ts";
import type { EngineHost } from "../core/system.ts";
import type { EngineClient } from "./client.ts";
import { IdleTimer } from "./idle-timer.ts";
import type { Holder, Places } from "./places.ts";
import type { EngineEvent, EngineInfo, EngineOptions } from "./protocol.ts";

export interface ManagedModelDeps {
  /** Finds the model's file, downloading it where needed, and says how to run it. Throws with the reason. */
  readonly prepare: (signal: AbortSignal) => Promise<EngineOptions>;
  /** Throws with the reason when the memory that is free now cannot hold it. */
  readonly checkMemory: (options: EngineOptions) => void;
  readonly startEngine: (options: EngineOptions) => EngineClient;
  readonly places: Places;
  /** Requests that may wait for the model to be loaded. */
  readonly queueMax: number;
  /** Time without a request after which it is unloaded, milliseconds; absent: never. */
  readonly idleMs?: number;
  readonly log: (line: string) => void;
}

/** Somebody who wants the model loaded. */
interface Waiter {
  /** A command wants it loaded and no more; a request gets a lease, so that the model stays until it has ended. */
  readonly isCommand: boolean;
  readonly loaded: PromiseWithResolvers<EngineClient>;
}

type Failed = Extract<EngineEvent, { type: "error" }>;

type State =
  | { readonly type: "unloaded" }
  | { readonly type: "loading"; readonly done: Promise<void>; readonly abort: AbortController }
  | { readonly type: "loaded"; readonly engine: EngineClient }
  | { readonly type: "unloading"; readonly done: Promise<void> }
  | { readonly type: "stopped" };

export class ManagedModel implements Holder, ModelRuntime {
  usedAt = 0;
  /** What its engine found on the machine, once there was one. */
  host: EngineHost | undefined;
  known: EngineInfo | undefined; // what it turned out to be when it was last loaded
  private readonly deps: ManagedModelDeps;
  private state: State = { type: "unloaded" };
  private engine: EngineClient | undefined; // also while it is starting or ending
  private readonly leases = new Map<EngineClient, number>(); // requests of each engine
  private readonly retiring = new Set<EngineClient>(); // replaced, and ended with their last request
  private running = 0;
  private waiters: Waiter[] = [];
  private readonly share: FairShare; // places of requests that wait
  private ended = Promise.withResolvers<void>(); // a request has ended
  private failure: { readonly at: number } | undefined; // the last load has failed
  readonly idle: IdleTimer;

  constructor(deps: ManagedModelDeps) {
    this.deps = deps;
    this.share = new FairShare(() => deps.queueMax);
    this.idle = new IdleTimer(deps.idleMs, (idleMs) => this.leaveIdle(idleMs));
  }

  get status(): ModelStatus {
    switch (this.state.type) {
      case "loaded":
        if (this.state.engine.state === "ready") return "loaded";
        return this.state.engine.state === "loading" ? "reloading" : "unloaded";
      case "loading":
        return "reloading";
      case "unloading":
        return this.waiters.length > 0 ? "reloading" : "loaded";
      case "unloaded":
      case "stopped":
        return "unloaded";
    }
  }

  /** Whether the last try to load it has failed. */
  get hasFailed(): boolean {
    return this.failure !== undefined;
  }

  /** What the loaded model turned out to be; undefined while there is none. */
  get info(): EngineInfo | undefined {
    return this.engine?.info;
  }

  get isBusy(): boolean {
    return this.running > 0;
  }

  /** Requests under way or waiting. */
  get activeRuns(): number {
    return this.running + this.waiters.filter(({ isCommand }) => !isCommand).length;
  }

  /** Runs a request; see EngineClient.generate. Loads the model where it is not. */
  generate(
    request: RunRequest,
    signal: AbortSignal,
    adapter: AdapterId = BASE_MODEL,
  ): AsyncGenerator<RunEvent> {
    return this.run((engine) => engine.generate(request, signal, adapter), signal);
  }

  /** Draws pictures; see EngineClient.draw. Loads the model where it is not. */
  draw(request: ImageRequest, signal: AbortSignal): AsyncGenerator<ImageEvent> {
    return this.run((engine) => engine.draw(request, signal), signal);
  }

  /** Speaks; see EngineClient.speak. Loads the model where it is not. */
  speak(request: SpeakRequest, signal: AbortSignal): AsyncGenerator<SpeechEvent> {
    return this.run((engine) => engine.speak(request, signal), signal);
  }

  /** What the loaded model is like. Waits for it as a request does, with the same bound; throws as one is refused. */
  async loadedInfo(signal: AbortSignal): Promise<EngineInfo> {
    const engine = await this.acquire(signal);
    try {
      return await engine.ready();
    } finally {
      this.release(engine);
    }
  }

  /** Embeds; see EngineClient.embed. Loads the model where it is not. */
  async embed(request: EmbedRequest | RankRequest, signal: AbortSignal): Promise<EmbedResult> {
    const engine = await this.acquire(signal);
    try {
      return await engine.embed(request, signal);
    } finally {
      this.release(engine);
    }
  }

  /** Loads it, or waits until it is loaded. Throws the reason why it can't be. */
  async load(): Promise<EngineInfo> {
    if (this.state.type === "loaded") return this.state.engine.ready();
    this.failure = undefined; // a command tries at once
    const waiter = this.enqueue(true);
    return (await waiter.loaded.promise).ready();
  }

  /** Unloads it once running requests have ended; requests that come meanwhile wait, and load it again. */
  async unload(): Promise<void> {
    for (;;) {
      const { state } = this;
      switch (state.type) {
        case "unloaded":
        case "stopped":
          this.failure = undefined;
          return;
        case "loading":
          if (this.waiters.length === 0) state.abort.abort(new Error("it was unloaded"));
          await state.done;
          break;
        case "loaded":
          await this.startUnloading(state.engine);
          return;
        case "unloading":
          await state.done;
          return;
      }
    }
  }

  /** Loads it anew; requests that come meanwhile wait for it. Throws the reason why it can't be loaded. */
  async reload(): Promise<EngineInfo> {
    if (this.state.type !== "loaded") return this.load();
    const waiter = this.enqueue(true); // so that it is loaded again when it is unloaded
    void this.startUnloading(this.state.engine);
    return (await waiter.loaded.promise).ready();
  }

  /**
   * Lets an engine that is made anew take over without a pause: requests go to the old one until the new one is ready, and
   * the old one ends with its last request. Both are in memory meanwhile. Throws the reason why it can't; then nothing has
   * changed. A model that is not loaded is left so: its next load is made anew anyway.
   */
  async replace(): Promise<void> {
    const { state } = this;
    if (state.type !== "loaded") return;
    const options = await this.deps.prepare(new AbortController().signal);
    this.deps.checkMemory(options);
    const next = this.deps.startEngine(options);
    this.retiring.add(next); // until it takes over, it ends with the server
    try {
      await next.ready();
    } catch (error) {
      await this.retire(next);
      throw error;
    }
    if (this.state !== state) return this.retire(next); // it was unloaded or stopped meanwhile
    this.retiring.delete(next);
    this.engine = next;
    this.state = { type: "loaded", engine: next };
    this.retiring.add(state.engine);
    if (!this.leases.has(state.engine)) void this.retire(state.engine);
  }

  /** What the loaded model's engine can be asked besides requests; undefined while it is not loaded. */
  get loadedEngine(): EngineClient | undefined {
    return this.state.type === "loaded" ? this.state.engine : undefined;
  }

  /** Ends it for good; running requests end with an error. */
  async stop(): Promise<void> {
    const { state } = this;
    this.state = { type: "stopped" };
    this.idle.stop();
    for (const { loaded } of this.takeWaiters()) loaded.reject(stopped());
    if (state.type === "loading") state.abort.abort(stopped());
    const engines = this.engine === undefined ? this.retiring : [this.engine, ...this.retiring];
    await Promise.all(Array.from(engines, (engine) => engine.stop()));
    if (state.type === "loading" || state.type === "unloading") await state.done;
  }

  /** Has the engine work on a request; an engine that there cannot be is the `error` event that such work ends with. */
  private async *run<E>(
    work: (engine: EngineClient) => AsyncIterable<E>,
    signal: AbortSignal,
  ): AsyncGenerator<E | Failed> {
    let engine: EngineClient;
    try {
      engine = await this.acquire(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ServiceError)) throw error;
      yield { type: "error", error: error.toData() };
      return;
    }
    try {
      yield* work(engine);
    } finally {
      this.release(engine);
    }
  }

  /** The engine, with a lease that `release` gives back. */
  private async acquire(signal: AbortSignal): Promise<EngineClient> {
    signal.throwIfAborted();
    if (this.state.type === "loaded") return this.lease(this.state.engine);
    const client = currentCaller()?.client ?? "";
    if (!this.share.take(client)) {
      const message = `${this.share.taken} requests are already waiting for this model to be loaded. Try again soon.`;
      throw new ServiceError("queue_full", message, { retryAfterSecs: 1 });
    }
    const waiter = this.enqueue(false);
    const abort = (): void => {
      const index = this.waiters.indexOf(waiter);
      if (index < 0) return; // it has its lease already; the run itself ends
      this.waiters.splice(index, 1);
      waiter.loaded.reject(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await waiter.loaded.promise;
    } finally {
      signal.removeEventListener("abort", abort);
      this.share.release(client);
    }
  }

  private enqueue(isCommand: boolean): Waiter {
    const waiter: Waiter = { isCommand, loaded: Promise.withResolvers() };
    if (this.state.type === "stopped") {
      waiter.loaded.reject(stopped());
    } else if (this.failure !== undefined && performance.now() - this.failure.at < FAILED_LOAD_MS) {
      waiter.loaded.reject(failed());
    } else {
      this.waiters.push(waiter);
      if (this.state.type === "unloaded") this.startLoading();
    }
    return waiter;
  }

  private takeWaiters(): readonly Waiter[] {
    const waiters = this.waiters;
    this.waiters = [];
    return waiters;
  }

  private lease(engine: EngineClient): EngineClient {
    this.running++;
    this.leases.set(engine, (this.leases.get(engine) ?? 0) + 1);
    this.idle.stop();
    return engine;
  }

  private async retire(engine: EngineClient): Promise<void> {
    await engine.stop();
    this.retiring.delete(engine);
  }

  private release(engine: EngineClient): void {
    const left = (this.leases.get(engine) ?? 0) - 1;
    if (left > 0) this.leases.set(engine, left);
    else this.leases.delete(engine);
    if (left <= 0 && this.retiring.has(engine)) void this.retire(engine);
    this.running--;
    this.usedAt = performance.now();
    if (this.running > 0) return;
    this.ended.resolve();
    this.ended = Promise.withResolvers();
    if (this.state.type === "loaded") this.idle.start();
  }

  private leaveIdle(idleMs: number): void {
    if (this.state.type !== "loaded" || this.running > 0) return;
    this.deps.log(`not used for ${idleMs / 1000} s; unloading it`);
    void this.unload();
  }

  private startLoading(): void {
    const abort = new AbortController();
    this.state = { type: "loading", done: this.loadNow(abort.signal), abort };
  }

  private async loadNow(signal: AbortSignal): Promise<void> {
    const { prepare, checkMemory, startEngine, places } = this.deps;
    this.failure = undefined;
    try {
      const options = await prepare(signal);
      await places.take(this, signal);
      signal.throwIfAborted();
      checkMemory(options);
      this.engine = startEngine(options);
      await this.engine.ready();
      signal.throwIfAborted();
      this.becomeLoaded(this.engine);
    } catch (error) {
      await this.engine?.stop();
      this.engine = undefined;
      places.release(this);
      if (!signal.aborted) this.fail(error);
      this.becomeUnloaded();
    }
  }

  /** Whoever waits has its lease before anybody can ask the model to leave again. */
  private becomeLoaded(engine: EngineClient): void {
    this.state = { type: "loaded", engine };
    this.host = engine.host;
    this.known = engine.info;
    this.usedAt = performance.now();
    for (const { isCommand, loaded } of this.takeWaiters()) {
      loaded.resolve(isCommand ? engine : this.lease(engine));
    }
    if (this.running === 0) this.idle.start();
  }

  private fail(reason: unknown): void {
    this.failure = { at: performance.now() };
    const waiters = this.takeWaiters();
    const isTold = waiters.some(({ isCommand }) => isCommand);
    if (!isTold) this.deps.log(`it could not be loaded: ${reasonOf(reason)}`);
    for (const { isCommand, loaded } of waiters) loaded.reject(isCommand ? reason : failed());
  }

  private startUnloading(engine: EngineClient): Promise<void> {
    this.idle.stop();
    const done = this.unloadNow(engine);
    this.state = { type: "unloading", done };
    return done;
  }

  private async unloadNow(engine: EngineClient): Promise<void> {
    while (this.running > 0) await this.ended.promise;
    await engine.stop();
    this.engine = undefined;
    this.deps.places.release(this);
    this.becomeUnloaded();
  }

  private becomeUnloaded(): void {
    if (this.state.type === "stopped") return;
    this.state = { type: "unloaded" };
    if (this.waiters.length > 0) this.startLoading(); // they came while it was leaving
  }
}

/** Why it does not load concerns the operator, who has it in the log; it may name files of the server. */
function failed(): ServiceError {
  const message = "The model could not be loaded. The server's log says why; it is tried again.";
  return new ServiceError("model_unavailable", message, { retryAfterSecs: FAILED_LOAD_MS / 1000 });
}

function stopped(): ServiceError {
  return new ServiceError("shutting_down", "The server was stopped before this request was finished.");
}
