// The served models by name. Owns one engine client a model.

import { ServiceError } from "../core/error.ts";
import type { ModelInfo } from "../core/model-info.ts";
import type { EmbedRequest, EmbedResult, RunEvent, RunRequest } from "../core/run.ts";
import type { EngineClient } from "./client.ts";

/** A configured model under the name that clients use. */
export interface ServedModel {
  readonly id: string;
  readonly engine: EngineClient;
}

/** What a request says to mean the default model. */
const DEFAULT_NAME = "default";

export class Models {
  private readonly models: readonly ServedModel[]; // the default model first
  private readonly created = Math.floor(Date.now() / 1000);
  private readonly seed: number | undefined;

  /** At least one model; `defaultId` is the id of one of them. `seed` is for requests that bring none. */
  constructor(models: readonly ServedModel[], defaultId: string | undefined, seed?: number) {
    this.seed = seed;
    const first = models.filter(({ id }) => id === defaultId);
    this.models = [...first, ...models.filter((model) => !first.includes(model))];
  }

  /** Cards of all models, the default one first. */
  list(): readonly ModelInfo[] {
    return this.models.map(({ id, engine }) => ({
      id,
      created: this.created,
      ownedBy: "svc",
      status: engine.state === "ready" ? "loaded" : engine.state === "loading" ? "reloading" : "unloaded",
    }));
  }

  /** The model of that name. Throws ServiceError(model_not_found), naming those there are. */
  resolve(name: string): ServedModel {
    const model = name === DEFAULT_NAME ? this.models[0] : this.models.find(({ id }) => id === name);
    if (model !== undefined) return model;
    const ids = this.models.map(({ id }) => id).join(", ");
    throw new ServiceError(
      "model_not_found",
      `There is no model named "${name.slice(0, 200)}". Served: ${ids}.`,
      {
        param: "model",
      },
    );
  }

  /** Longest sequence that the named model takes; undefined where it is not known. Waits for a model that is loading. */
  async contextTokens(name: string): Promise<number | undefined> {
    try {
      return (await this.resolve(name).engine.ready()).contextTokens;
    } catch {
      return undefined; // the run itself will say what is wrong
    }
  }

  /** Runs a request on the model it names; see EngineClient.generate. */
  async *generate(request: RunRequest, signal: AbortSignal): AsyncGenerator<RunEvent> {
    const seed = request.sampling.seed ?? this.seed;
    const seeded = seed === undefined ? request : { ...request, sampling: { ...request.sampling, seed } };
    yield* this.resolve(request.model).engine.generate(seeded, signal);
  }

  /** Embeds with the model that the request names; see EngineClient.embed. */
  async embed(request: EmbedRequest, signal: AbortSignal): Promise<EmbedResult> {
    return this.resolve(request.model).engine.embed(request, signal);
  }

  /** Resolves when all models are loaded; throws the first reason why one can't be. */
  async ready(): Promise<void> {
    await Promise.all(this.models.map(({ engine }) => engine.ready()));
  }

  /** Runs under way or waiting in all engines. */
  activeRuns(): number {
    return this.models.reduce((sum, { engine }) => sum + engine.activeRuns, 0);
  }

  /** Ends all engine processes. */
  async stop(): Promise<void> {
    await Promise.all(this.models.map(({ engine }) => engine.stop()));
  }
}
