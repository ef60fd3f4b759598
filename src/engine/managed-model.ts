// Life cycle of a served model: loaded on demand, unloaded by command, when idle, or when its place is needed. Requests hold
// leases: they wait while the model loads, and it is unloaded only after they have ended. A model has at most one engine
// process, except while a replacement takes over.
// All waiters get their lease before the next unload can start: otherwise two models with one place would evict each other endlessly. A
// failed load fails all waiters and is not retried for 5 s.

import { type AdapterId, BASE_MODEL } from "../core/adapter.ts";
import type { Caller } from "../core/caller.ts";
import { ServiceError } from "../core/error.ts";
import { FairShare } from "../core/fair-share.ts";
import { reasonOf } from "../core/reason.ts";
import { type Failed, failed, STOPPED } from "./death.ts";
import { LoadReports } from "./load-reports.ts";
import { processMemory } from "./process-memory.ts";
import { withAbort } from "../core/with-abort.ts";
import { FAILED_LOAD_MS } from "./limits.ts";
import type { ModelStatus } from "../core/model-info.ts";
import type { ModelRuntime } from "../core/model-runtime.ts";
import type { ImageEvent, ImageRequest } from "../core/image.ts";
import type { EmbedRequest, EmbedResult, RankRequest, RunEvent, RunRequest } from "../core/run.ts";
import type { SpeakRequest, SpeechEvent } from "../core/speech.ts";
import type { EngineHost } from "../core/system.ts";
import type { DeviceReadings, EvictionReason } from "../core/telemetry.ts";
import type { EngineClient } from "./client.ts";
import { LoadedFiles } from "./loaded-files.ts";
import { EngineLeases } from "./engine-leases.ts";
import { leased, leasedRun } from "./leased-work.ts";
import type { ManagedModelDeps } from "./managed-model-deps.ts";
import { IdleTimer } from "./idle-timer.ts";
import { type Waiter, Waiters } from "./waiters.ts";
import { type Holder, largerClaim, measuredClaim, NoRoom, nothing, sumOf, withMain } from "./places.ts";
import type { EngineInfo } from "./protocol.ts";

type State =
  | { readonly type: "unloaded" }
  | { readonly type: "loading"; readonly done: Promise<void>; readonly abort: AbortController }
  | { readonly type: "loaded"; readonly engine: EngineClient }
  | { readonly type: "unloading"; readonly done: Promise<void> }
  | { readonly type: "stopped" };

export class ManagedModel implements Holder, ModelRuntime {
  usedAt = 0;
  /** The machine as its engine found it; undefined before the first load. */
  host: EngineHost | undefined;
  known: EngineInfo | undefined; // facts of its last load
  private readonly deps: ManagedModelDeps;
  private state: State = { type: "unloaded" };
  private engine: EngineClient | undefined; // also while it starts or ends
  private readonly leases = new EngineLeases();
  private isPreparing = false;
  private readonly waiters = new Waiters();
  private readonly reports = new LoadReports();
  private taken = nothing(); // when it was loaded last
  private readonly files = new LoadedFiles();
  private readonly share: FairShare; // places of waiting requests
  private failure: { readonly at: number; readonly error: ServiceError } | undefined; // of the last load
  readonly idle: IdleTimer;
  isPinned: boolean;

  constructor(deps: ManagedModelDeps) {
    this.deps = deps;
    this.share = new FairShare(() => deps.queueMax);
    this.isPinned = deps.isPinned ?? false;
    this.idle = new IdleTimer(deps.idleMs, (idleMs) => this.unloadIdle(idleMs));
    this.idle.hold(this.isPinned);
  }

  get status(): ModelStatus {
    switch (this.state.type) {
      case "loaded":
        if (this.state.engine.state === "ready") return "loaded";
        return this.state.engine.state === "loading" ? "reloading" : "unloaded";
      case "loading":
        return "reloading";
      case "unloading":
        return this.waiters.count > 0 ? "reloading" : "loaded";
      case "unloaded":
      case "stopped":
        return "unloaded";
    }
  }

  /** The error of a load that failed a moment ago, with the file as it is now. */
  private get justFailed(): ServiceError | undefined {
    const { failure } = this;
    if (failure === undefined || this.files.areOverwritten) return undefined;
    return performance.now() - failure.at < FAILED_LOAD_MS ? failure.error : undefined;
  }

  /** Why its last load has failed, for clients; undefined: it has not. */
  get failedLoad(): string | undefined {
    return this.failure?.error.message;
  }

  /** Facts of the loaded model; undefined while it is not loaded. */
  get info(): EngineInfo | undefined {
    return this.engine?.info;
  }

  get isBusy(): boolean {
    return this.leases.count > 0;
  }

  /** Pins it, or ends that: then it is idle for the configured time at most, and may leave for other models. */
  pin(isPinned: boolean): void {
    this.isPinned = isPinned;
    this.idle.hold(isPinned);
    this.deps.places.reconsider();
  }

  get residentBytes(): number | undefined {
    return processMemory(this.engine?.pid)?.resident;
  }

  get privateBytes(): number {
    return processMemory(this.engine?.pid)?.private ?? 0;
  }

  get memory(): ReadonlyMap<string, number> | undefined {
    const claim = this.deps.places.claimOf(this);
    return claim && withMain(claim, this.engine?.copiedBytes ?? 0);
  }

  get readings(): DeviceReadings | undefined {
    return this.engine?.readings;
  }

  /** Open and waiting requests. */
  get activeRuns(): number {
    return this.leases.count + this.waiters.requests;
  }

  /** Runs a request; see EngineClient.generate. Loads the model if necessary. */
  generate(
    request: RunRequest,
    signal: AbortSignal,
    caller: Caller,
    adapter: AdapterId = BASE_MODEL,
  ): AsyncGenerator<RunEvent> {
    if (request.keepAliveMs !== undefined) this.idle.set(request.keepAliveMs);
    const work = (engine: EngineClient) => engine.generate(request, signal, caller, adapter);
    if (request.progress !== true || this.state.type === "loaded") return this.run(work, signal, caller);
    return leasedRun(
      this.reports.during(this.acquire(signal, caller), this.release),
      this.release,
      work,
      signal,
    );
  }

  /** Generates images; see EngineClient.draw. Loads the model if necessary. */
  draw(request: ImageRequest, signal: AbortSignal, caller: Caller): AsyncGenerator<ImageEvent> {
    return this.run((engine) => engine.draw(request, signal, caller), signal, caller);
  }

  /** Speaks; see EngineClient.speak. Loads the model if necessary. */
  speak(request: SpeakRequest, signal: AbortSignal, caller: Caller): AsyncGenerator<SpeechEvent> {
    return this.run((engine) => engine.speak(request, signal, caller), signal, caller);
  }

  /** Facts of the loaded model. Loads it if necessary; waits and throws like a request. */
  loadedInfo(signal: AbortSignal, caller: Caller): Promise<EngineInfo> {
    return leased(this.acquire(signal, caller), this.release, (engine) => engine.ready());
  }

  /** Embeds; see EngineClient.embed. Loads the model if necessary. */
  embed(request: EmbedRequest | RankRequest, signal: AbortSignal, caller: Caller): Promise<EmbedResult> {
    if (request.keepAliveMs !== undefined) this.idle.set(request.keepAliveMs);
    const work = (engine: EngineClient) => engine.embed(request, signal, caller);
    return leased(this.acquire(signal, caller), this.release, work);
  }

  /** Loads it, or waits until it is loaded. Throws the reason of a failure; a preload NoRoom. */
  async load({ isPreload = false }: { readonly isPreload?: boolean } = {}): Promise<EngineInfo> {
    if (this.state.type === "loaded") return this.state.engine.ready();
    this.failure = undefined; // a command retries at once
    const engine = await this.enqueue({ isCommand: true, isPreload }).loaded.promise;
    return engine.info ?? engine.ready(); // a waiting request of another model may have ended it already
  }

  /** Unloads it after its open requests; requests that arrive meanwhile wait and load it again. */
  async unload(): Promise<void> {
    for (;;) {
      const { state } = this;
      switch (state.type) {
        case "unloaded":
        case "stopped":
          this.failure = undefined;
          return;
        case "loading":
          if (this.waiters.count === 0) state.abort.abort(new Error("it was unloaded"));
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

  /** Unloads it because another model needs its memory or place, or for the reason in `line`. */
  evict(reason: EvictionReason, line = "unloading it for another model"): void {
    this.deps.log(line);
    this.deps.onEvicted?.(reason, sumOf(this.memory) ?? 0);
    void this.unload();
  }

  /** Reloads it; requests that arrive meanwhile wait. Throws the reason of a failure. */
  async reload(): Promise<EngineInfo> {
    if (this.state.type !== "loaded") return this.load();
    const waiter = this.enqueue({ isCommand: true }); // a waiter makes the unload load it again
    void this.startUnloading(this.state.engine);
    return (await waiter.loaded.promise).ready();
  }

  /**
   * Replaces the engine without downtime: requests go to the old one until the new one is ready, and the old one ends with its
   * last request. Both are in memory meanwhile. Throws the reason of a failure; then nothing has changed. A model that is not
   * loaded stays so: its next load uses the new options anyway.
   */
  async replace(): Promise<void> {
    const { state } = this;
    if (state.type !== "loaded") return;
    const options = this.files.note(await this.deps.prepare(new AbortController().signal));
    this.deps.checkMemory(options);
    const next = this.deps.startEngine(options, () => {});
    this.leases.add(next); // until it takes over, it stops with the server
    try {
      await next.ready();
    } catch (error) {
      await this.leases.retire(next);
      throw error;
    }
    if (this.state !== state) return this.leases.retire(next); // it was unloaded or stopped meanwhile
    this.leases.adopt(next);
    this.engine = next;
    this.state = { type: "loaded", engine: next };
    void this.leases.retire(state.engine);
  }

  /** The loaded model's engine; undefined while it is not loaded. */
  get loadedEngine(): EngineClient | undefined {
    return this.state.type === "loaded" ? this.state.engine : undefined;
  }

  /** Stops it permanently if its files are still on their way: requests would wait for them in vain. */
  async stopPreparing(): Promise<void> {
    if (this.isPreparing) await this.stop();
  }

  /** Stops it permanently; open requests fail. */
  async stop(): Promise<void> {
    const { state } = this;
    this.state = { type: "stopped" };
    this.idle.stop();
    for (const { loaded } of this.waiters.takeAll()) loaded.reject(ServiceError.fromData(STOPPED));
    if (state.type === "loading") state.abort.abort(ServiceError.fromData(STOPPED));
    const engines = this.engine === undefined ? this.leases.others : [this.engine, ...this.leases.others];
    await Promise.all(Array.from(engines, (engine) => engine.stop()));
    if (state.type === "loading" || state.type === "unloading") await state.done;
  }

  private run<E>(
    work: (engine: EngineClient) => AsyncIterable<E>,
    signal: AbortSignal,
    caller: Caller,
  ): AsyncGenerator<E | Failed> {
    return leasedRun(this.acquire(signal, caller), this.release, work, signal);
  }

  /** Leases the engine; `release` ends the lease. */
  private async acquire(signal: AbortSignal, { client }: Caller): Promise<EngineClient> {
    signal.throwIfAborted();
    if (this.state.type === "loaded" && this.files.areOverwritten) {
      this.deps.log("its file was written over; loading it again");
      void this.startUnloading(this.state.engine);
    }
    if (this.state.type === "loaded") return this.lease(this.state.engine);
    this.share.mustTake(client, "this model to be loaded");
    const waiter = this.enqueue({ isCommand: false });
    const abort = (): void => this.waiters.dismiss(waiter, signal.reason); // the run itself ends one that has its lease
    try {
      return await withAbort(signal, abort, waiter.loaded.promise);
    } finally {
      this.share.release(client);
    }
  }

  private enqueue(kind: Pick<Waiter, "isCommand"> & Partial<Waiter>): Waiter {
    const waiter: Waiter = { isPreload: false, ...kind, loaded: Promise.withResolvers() };
    const { justFailed } = this;
    if (this.state.type === "stopped") {
      waiter.loaded.reject(ServiceError.fromData(STOPPED));
    } else if (justFailed !== undefined) {
      waiter.loaded.reject(justFailed);
    } else {
      this.waiters.add(waiter);
      if (this.state.type === "unloaded") this.startLoading();
    }
    return waiter;
  }

  private lease(engine: EngineClient): EngineClient {
    this.idle.stop();
    return this.leases.take(engine);
  }

  private readonly release = (engine: EngineClient): void => {
    this.leases.release(engine);
    this.usedAt = performance.now();
    if (!this.isBusy && this.state.type === "loaded") this.idle.start();
  };

  private unloadIdle(idleMs: number): void {
    if (this.state.type !== "loaded" || this.isBusy) return;
    this.evict("idle", `idle for ${idleMs / 1000} s; unloading`);
  }

  private startLoading(): void {
    const abort = new AbortController();
    this.state = { type: "loading", done: this.loadNow(abort.signal), abort };
  }

  private async loadNow(signal: AbortSignal): Promise<void> {
    const { prepare, checkMemory, startEngine, places, claimsOf = () => nothing } = this.deps;
    this.failure = undefined;
    try {
      this.isPreparing = true;
      const options = this.files.note(await prepare(signal).finally(() => (this.isPreparing = false)));
      const claimOf = claimsOf(options);
      const claim = () => largerClaim(claimOf(), this.taken);
      const mayEvict = (): boolean => this.isPinned || !this.waiters.arePreloads;
      const freeBytes = await places.take(this, { claim, mayEvict }, signal);
      signal.throwIfAborted();
      checkMemory(options, freeBytes);
      if (this.waiters.requests > 0) this.deps.log("loading it for a request");
      this.engine = startEngine(options, (permille) => this.reports.report(permille));
      const info = await this.engine.ready();
      signal.throwIfAborted();
      this.becomeLoaded(this.engine);
      this.taken = largerClaim(claimOf(info), measuredClaim(this.engine.pid));
      places.loaded(this, this.taken); // its waiters have their leases
    } catch (error) {
      await this.engine?.stop();
      this.engine = undefined;
      places.release(this);
      if (!signal.aborted) this.fail(error);
      this.becomeUnloaded();
    }
  }

  /** Waiters get their lease before an unload can start. */
  private becomeLoaded(engine: EngineClient): void {
    this.state = { type: "loaded", engine };
    this.host = engine.host;
    this.known = engine.info;
    this.usedAt = performance.now();
    for (const { isCommand, loaded } of this.waiters.takeAll()) {
      loaded.resolve(isCommand ? engine : this.lease(engine));
    }
    if (!this.isBusy) this.idle.start();
  }

  private fail(reason: unknown): void {
    if (reason instanceof NoRoom) {
      this.waiters.dismissPreloads(reason); // the others came since, and may have models unloaded
      return;
    }
    const error = failed(reason);
    this.failure = { at: performance.now(), error };
    const waiters = this.waiters.takeAll();
    const hasCommand = waiters.some(({ isCommand }) => isCommand);
    if (!hasCommand) this.deps.log(`could not be loaded: ${reasonOf(reason)}`);
    for (const { isCommand, loaded } of waiters) loaded.reject(isCommand ? reason : error);
  }

  private startUnloading(engine: EngineClient): Promise<void> {
    this.idle.stop();
    const done = this.unloadNow(engine);
    this.state = { type: "unloading", done };
    return done;
  }

  private async unloadNow(engine: EngineClient): Promise<void> {
    await this.leases.none();
    await engine.stop();
    this.engine = undefined;
    this.deps.places.release(this);
    this.becomeUnloaded();
  }

  private becomeUnloaded(): void {
    if (this.state.type === "stopped") return;
    this.state = { type: "unloaded" };
    if (this.waiters.count > 0) this.startLoading(); // they arrived while it was unloading
  }
}
