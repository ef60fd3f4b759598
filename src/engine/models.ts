// The served models by name. Owns one engine client a model.

import { ServiceError } from "../core/error.ts";
import type { ModelInfo } from "../core/model-info.ts";
import type { EngineHost, SystemModel } from "../core/system.ts";
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

  /** What the engines know of their models, in the order of `list`. */
  describe(): readonly SystemModel[] {
    return this.list().map(({ id, status }) => {
      const info = this.models.find((model) => model.id === id)?.engine.info;
      return {
        id,
        status,
        architecture: info?.architecture ?? null,
        size_bytes: info?.sizeBytes ?? null,
        context_tokens: info?.contextTokens ?? null,
        kv_cells: info?.cells ?? null,
        threads: info?.threads ?? null,
      };
    });
  }

  /** What an engine found on the machine; undefined until one has started. */
  host(): EngineHost | undefined {
    return this.models.find(({ engine }) => engine.host !== undefined)?.engine.host;
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
