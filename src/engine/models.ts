// The served models by name. The life cycle of each is in managed-model.ts.

import { catalogued } from "../core/catalogue.ts";
import type { Caller } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import { ANY_MEDIA } from "../core/media.ts";
import {
  type Ability,
  DEFAULT_NAME,
  defaultModel,
  KIND_OF,
  type LoadFailure,
  type ModelControl,
  type ModelInfo,
  type ModelState,
} from "../core/model-info.ts";
import type { RuntimeFacts } from "../core/model-runtime.ts";
import { reasonOf } from "../core/reason.ts";
import type { EngineHost, SystemDevice, SystemModel } from "../core/system.ts";
import type { ImageEvent, ImageRequest } from "../core/image.ts";
import type { EmbedRequest, EmbedResult, RankRequest, RankResult, RunRequest } from "../core/run.ts";
import type { SpeakRequest, SpeechEvent } from "../core/speech.ts";
import type { BaseTarget, ModelFacts } from "../core/target.ts";
import { mustBeOfKind, noneOfKind, textInfo } from "./abilities.ts";
import { failed } from "./death.ts";
import { UPSTREAM_CONTEXT_TOKENS } from "./limits.ts";
import { machineOf, usersOf } from "./machine.ts";
import { NoRoom, type Places } from "./places.ts";
import {
  cardOfServed,
  failureOf,
  pinOf,
  type ServedModel,
  systemModelOf,
  textFacts,
} from "./served-model.ts";

export interface ModelsOptions {
  /** Id of one of the models; the first one unless given. */
  readonly defaultId?: string | undefined;
  /** For requests without one. */
  readonly seed?: number | undefined;
  readonly places: Places;
  /** Called before models are looked up: adds and removes those that have changed on disk. */
  readonly refresh?: (models: Models) => void;
  readonly log: (line: string) => void;
}

export class Models implements ModelControl {
  private models: readonly ServedModel[]; // the default model first
  private readonly leaving = new Set<ServedModel>(); // removed; they end with their last request
  private readonly created = Math.floor(Date.now() / 1000);
  private readonly options: ModelsOptions;

  /** At least one model. */
  constructor(models: readonly ServedModel[], options: ModelsOptions) {
    this.options = options;
    const first = models.filter(({ id }) => id === options.defaultId);
    this.models = [...first, ...models.filter((model) => !first.includes(model))];
  }

  /** Serves another model: before those that were added earlier, and before what stands in for one. */
  add(model: ServedModel): void {
    const later = this.models.findIndex(({ isLazy, isStandIn }) => isLazy === true || isStandIn === true);
    this.models = this.models.toSpliced(later < 0 ? this.models.length : later, 0, model);
  }

  /** Serves a model no more: requests for it are refused at once, open ones finish. Resolves when its memory is free. */
  async remove(id: string): Promise<void> {
    const model = this.models.find((one) => one.id === id);
    if (model === undefined) return;
    this.models = this.models.filter((one) => one !== model);
    this.leaving.add(model);
    await model.model.unload();
    await model.model.stop();
    this.leaving.delete(model);
  }

  /** Ids of the served models. */
  ids(): readonly string[] {
    return this.models.map(({ id }) => id);
  }

  /** Open and waiting requests of one model; 0 for one that is not served. */
  activeRunsOf(id: string): number {
    return this.models.find((one) => one.id === id)?.model.activeRuns ?? 0;
  }

  /** Cards of all models, the default one first. */
  list(): readonly ModelInfo[] {
    this.options.refresh?.(this);
    return this.models.map((model) => cardOfServed(model, this.created));
  }

  /** The models as their engines report them, in the order of `list`. */
  describe(): readonly SystemModel[] {
    this.options.refresh?.(this);
    return this.models.map(systemModelOf);
  }

  /** The machine as all engines see it; undefined before the first start. */
  host(): EngineHost | undefined {
    return machineOf(this.models);
  }

  /** What each loaded model takes of a device. */
  usersOf(device: EngineHost["devices"][number]): SystemDevice["models"] {
    return usersOf(device, this.models);
  }

  /** The machine as each engine found it when it started. */
  hosts(): readonly EngineHost[] {
    return this.models.flatMap(({ model }) => model.host ?? []);
  }

  /** The model of that name, of any kind. Throws ServiceError(model_not_found) with the served names. */
  resolve(name: string, param = "model"): ServedModel {
    const model = this.named(name) ?? (name === DEFAULT_NAME ? this.models[0] : undefined);
    if (model !== undefined) return model;
    const ids = this.models.map(({ id }) => id).join(", ");
    throw new ServiceError(
      "model_not_found",
      `no model is named "${name.slice(0, 200)}"; served models: ${ids}`,
      { param },
    );
  }

  /**
   * The model of that name, which must have the ability; `default`: see `defaultModel`. Throws
   * ServiceError(model_not_found) or ServiceError(unsupported_capability).
   */
  able(ability: Ability, name: string, param = "model"): ServedModel {
    if (name === DEFAULT_NAME && this.named(name) === undefined) {
      const cards = this.models.map((served) => ({
        served,
        kind: served.kind,
        ...textFacts(served.model.known),
      }));
      const found = defaultModel(cards, ability);
      if (found === undefined) throw noneOfKind(KIND_OF[ability], param);
      return found.served;
    }
    const model = this.resolve(name, param);
    mustBeOfKind(model.id, model.kind, ability, param);
    return model;
  }

  /** The text model of that name, resolved for all runs of one request. Throws like `able`. */
  textModel(name: string): BaseTarget {
    const { id, model, mediaLimits } = this.able("generates", name);
    const factsOf = (info: RuntimeFacts): ModelFacts => {
      const { contextTokens = UPSTREAM_CONTEXT_TOKENS, modalities } = textInfo(info);
      return { contextTokens, media: { ...ANY_MEDIA, ...mediaLimits, modalities } };
    };
    return {
      id,
      generate: (request, signal, caller, adapter) =>
        model.generate(this.seeded(request), signal, caller, adapter),
      facts: () => model.info && factsOf(model.info),
      loadFacts: async (signal, caller) => factsOf(await model.loadedInfo(signal, caller)),
    };
  }

  private seeded(request: RunRequest): RunRequest {
    const seed = request.sampling.seed ?? this.options.seed;
    return seed === undefined ? request : { ...request, sampling: { ...request.sampling, seed } };
  }

  /** Embeds with the model that the request names; see ManagedModel.embed. */
  async embed(request: EmbedRequest, signal: AbortSignal, caller: Caller): Promise<EmbedResult> {
    return this.able("embeds", request.model).model.embed(request, signal, caller);
  }

  /** Scores documents with the model that the request names; see ManagedModel.embed. */
  async rank(request: RankRequest, signal: AbortSignal, caller: Caller): Promise<RankResult> {
    const { model } = this.able("ranks", request.model);
    const { vectors, promptTokens } = await model.embed(request, signal, caller);
    return { scores: vectors.map(([score = 0]) => score), promptTokens };
  }

  /** Generates images with the model that the request names; see ManagedModel.draw. */
  draw(request: ImageRequest, signal: AbortSignal, caller: Caller): AsyncGenerator<ImageEvent> {
    const seed = request.seed ?? this.options.seed;
    const seeded = seed === undefined ? request : { ...request, seed };
    return this.able("draws", request.model).model.draw(seeded, signal, caller);
  }

  /** Speaks with the model that the request names; see ManagedModel.speak. */
  speak(request: SpeakRequest, signal: AbortSignal, caller: Caller): AsyncGenerator<SpeechEvent> {
    return this.able("speaks", request.model).model.speak(request, signal, caller);
  }

  status(name: string): ModelState {
    const { id, model } = this.resolve(name, "model_id");
    const { status } = model;
    const idleLeftMs = model.idle.leftMs;
    return {
      id,
      status,
      ...pinOf(model),
      ...failureOf(model),
      ...defined({ idleLeftMs }),
    };
  }

  keep(name: string, idleMs: number | undefined): void {
    this.resolve(name).model.idle.set(idleMs);
  }

  pin(name: string, isPinned: boolean): ModelState {
    const { id, model } = this.resolve(name, "model_id");
    if (model.pin === undefined) {
      const message = `${id} is run by upstream servers, which load and unload it themselves; only models of this machine can be pinned`;
      throw new ServiceError("unsupported_capability", message, { param: "model_id" });
    }
    model.pin(isPinned);
    return this.status(name);
  }

  async ensureLoaded(name: string, signal: AbortSignal, caller: Caller): Promise<ModelState> {
    await this.resolve(name).model.loadedInfo(signal, caller);
    return this.status(name);
  }

  async unload(name: string): Promise<ModelState> {
    await this.resolve(name, "model_id").model.unload();
    return this.status(name);
  }

  async reload(name: string): Promise<ModelState> {
    const { id, model } = this.resolve(name, "model_id");
    try {
      await model.reload();
    } catch (error) {
      if (error instanceof ServiceError && error.code === "shutting_down") throw error;
      this.options.log(`${id}: could not be loaded: ${reasonOf(error)}`);
      throw failed(error);
    }
    return this.status(name);
  }

  /** Loads one model. Throws the reason of a failure. */
  load(name: string): Promise<RuntimeFacts> {
    return this.resolve(name).model.load();
  }

  /**
   * Loads the models that fit, pinned ones and then the default one first; the others are loaded by their first request. Those that
   * cannot be loaded are logged and returned; throws the first one's reason when none can.
   */
  async loadAll(): Promise<readonly LoadFailure[]> {
    const eager = this.models.filter(({ isLazy = false }) => !isLazy);
    const pinned = eager.filter(({ model }) => model.isPinned);
    const wanted = [...pinned, ...eager.filter((model) => !pinned.includes(model))];
    const first = wanted.slice(0, this.options.places.max);
    const failures = (await Promise.all(first.map((model) => this.preload(model)))).flatMap(
      (one) => one ?? [],
    );
    const [failure] = failures;
    if (failure !== undefined && failures.length === eager.length)
      throw new Error(`${failure.id}: ${failure.reason}`);
    for (const { id, reason } of failures) this.options.log(`${id}: could not be loaded: ${reason}`);
    return failures;
  }

  private async preload({ id, model }: ServedModel): Promise<LoadFailure | undefined> {
    try {
      await model.load({ isPreload: true });
      return undefined;
    } catch (error) {
      if (error instanceof ServiceError && error.code === "shutting_down") throw error;
      if (!(error instanceof NoRoom)) return { id, reason: reasonOf(error) };
      this.options.log(`${id}: not loaded yet: the other models take the memory`);
      return undefined;
    }
  }

  private named(name: string): ServedModel | undefined {
    this.options.refresh?.(this);
    const repo = catalogued(name)?.repo ?? name;
    return this.models.find(({ id }) => id === name) ?? this.models.find(({ root }) => root === repo);
  }

  /** Open and waiting requests of all models. */
  activeRuns(): number {
    return [...this.models, ...this.leaving].reduce((sum, { model }) => sum + model.activeRuns, 0);
  }

  /** Ends downloads of models, and the requests that wait for them. */
  async stopPreparing(): Promise<void> {
    await Promise.all(this.models.map(async ({ model }) => model.stopPreparing?.()));
  }

  /** Ends all engine processes. */
  async stop(): Promise<void> {
    await Promise.all([...this.models, ...this.leaving].map(({ model }) => model.stop()));
  }
}
