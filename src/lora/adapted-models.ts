// Puts the adapters in front of the served models: finds out which adapter a request means, holds it while the request
// runs, and shows adapters as models of their own.

import {
  type AdapterEntry,
  type AdapterId,
  type AdapterList,
  type AdapterLoad,
  type Adapters,
  type AdapterSelection,
  BASE_MODEL,
} from "../core/adapter.ts";
import type { AnswerEvent, Conversation, Converse } from "../core/agent.ts";
import { assert } from "../core/assert.ts";
import { ServiceError } from "../core/error.ts";
import type { ModelInfo } from "../core/model-info.ts";
import type { Generate, RunEvent, RunRequest } from "../core/run.ts";
import type { AdapterRegistry, PreparedAdapter } from "./registry.ts";

export interface AdaptedModelsDeps {
  /** The served models without adapters. */
  readonly models: () => readonly ModelInfo[];
  /** The id of the model that a name means. Throws ServiceError(model_not_found). */
  readonly resolve: (name: string) => string;
  /** Generates with a model and one of the adapters that its engine holds. */
  readonly generate: (
    request: RunRequest,
    signal: AbortSignal,
    adapter: AdapterId,
  ) => AsyncIterable<RunEvent>;
  /** By model id; a model that is missing has no dynamic adapters. */
  readonly registries: ReadonlyMap<string, AdapterRegistry>;
  readonly isMutable: boolean;
}

/** What a request's `model` and `adapter` mean. */
interface Meaning {
  readonly model: string;
  readonly selection: AdapterSelection | undefined;
}

export class AdaptedModels implements Adapters {
  readonly isMutable: boolean;
  private readonly deps: AdaptedModelsDeps;

  constructor(deps: AdaptedModelsDeps) {
    this.deps = deps;
    this.isMutable = deps.isMutable;
  }

  /** Generates; the adapter stays in memory until the run has ended. `accepted` names its generation. */
  readonly generate: Generate = (request, signal) => {
    const { model, selection } = this.meaningOf(request);
    const base = model === request.model ? request : { ...request, model };
    return selection === undefined
      ? this.deps.generate(base, signal, BASE_MODEL)
      : this.generateWith(base, signal, selection);
  };

  /**
   * Makes all runs of an answer use one model and one generation, which stays in memory until the answer has ended,
   * whatever becomes of its alias meanwhile. Throws for a model that is not served.
   */
  steady(converse: Converse): Converse {
    return (conversation, signal) => {
      const { run } = conversation;
      const { model, selection } = this.meaningOf(run);
      if (selection === undefined) return converse({ ...conversation, run: { ...run, model } }, signal);
      return this.steadyAnswer(
        converse,
        { ...conversation, run: { ...run, model, adapter: selection } },
        signal,
      );
    };
  }

  /** Models and their adapters, each adapter after its model. */
  cards(): readonly ModelInfo[] {
    return this.deps.models().flatMap((model) => [model, ...this.adapterCards(model)]);
  }

  list(name: string): AdapterList {
    const registry = this.registryOf(this.deps.resolve(name));
    return { entries: registry.entries(), generations: registry.records(), limits: registry.limits };
  }

  load(name: string, request: AdapterLoad): Promise<AdapterEntry> {
    return this.registryOf(this.deps.resolve(name)).load(request);
  }

  /** Loads what the operator has named, wherever it lies. */
  preload(
    name: string,
    request: AdapterLoad,
    prepare: (source: string) => Promise<PreparedAdapter>,
  ): Promise<AdapterEntry> {
    return this.registryOf(this.deps.resolve(name)).load(request, prepare);
  }

  unload(name: string, alias: string, expectedGeneration: string | undefined): AdapterEntry {
    return this.registryOf(this.deps.resolve(name)).unload(alias, expectedGeneration);
  }

  private async *generateWith(
    request: RunRequest,
    signal: AbortSignal,
    selection: AdapterSelection,
  ): AsyncGenerator<RunEvent> {
    const lease = this.registryOf(request.model, "adapter").lease(selection);
    try {
      for await (const event of this.deps.generate(request, signal, lease.adapter)) {
        yield event.type === "accepted" ? { ...event, adapterGeneration: lease.generation } : event;
      }
    } finally {
      lease.release();
    }
  }

  private async *steadyAnswer(
    converse: Converse,
    { run, agent }: Conversation,
    signal: AbortSignal,
  ): AsyncGenerator<AnswerEvent> {
    const { adapter } = run;
    assert(adapter !== undefined, "a steady answer has an adapter");
    const lease = this.registryOf(run.model, "adapter").lease(adapter);
    try {
      yield* converse({ run: { ...run, adapter: { generation: lease.generation } }, agent }, signal);
    } finally {
      lease.release();
    }
  }

  /** A model's own name comes before an adapter's card, and a card before a short alias. */
  private meaningOf({ model: name, adapter }: Pick<RunRequest, "model" | "adapter">): Meaning {
    const named = this.adapterNamed(name);
    if (named === undefined) return { model: this.deps.resolve(name), selection: adapter };
    if (adapter === undefined) return { model: named.model, selection: { alias: named.alias } };
    const message = `model ${JSON.stringify(name.slice(0, 200))} names an adapter already; leave adapter out`;
    throw new ServiceError("contradictory_fields", message, { param: "adapter" });
  }

  private adapterNamed(name: string): { readonly model: string; readonly alias: string } | undefined {
    const models = this.deps.models();
    if (models.some(({ id, root }) => id === name || root === name)) return undefined;
    const all = models.flatMap((model) =>
      (this.deps.registries.get(model.id)?.entries() ?? []).map(({ alias }) => ({ model: model.id, alias })),
    );
    const card = all.find(({ model, alias }) => this.cardId(model, alias) === name);
    if (card !== undefined) return card;
    const short = all.filter(({ alias }) => alias === name);
    if (short.length <= 1) return short[0];
    const ids = short.map(({ model, alias }) => this.cardId(model, alias)).join(", ");
    const message = `several models have an adapter of this name; send one of ${ids}`;
    throw new ServiceError("model_not_found", message, { param: "model" });
  }

  private adapterCards(model: ModelInfo): readonly ModelInfo[] {
    const entries = this.deps.registries.get(model.id)?.entries() ?? [];
    return entries.map(({ alias, generation }) => ({
      ...model,
      id: this.cardId(model.id, alias),
      parent: model.id,
      root: alias,
      adapterGeneration: generation,
    }));
  }

  /** Everything but plain characters of an alias is escaped, so two aliases never meet; a model's own id goes first. */
  private cardId(model: string, alias: string): string {
    const escaped = alias.replace(/[^A-Za-z0-9._-]/gu, (sign) =>
      encodeURIComponent(sign).replace(/^[^%]/, escapeAscii),
    );
    const id = `${model}:${escaped}`;
    const taken = new Set(this.deps.models().map((other) => other.id));
    for (let suffix = 2, unique = id; ; suffix++) {
      if (!taken.has(unique)) return unique;
      unique = `${id}~${suffix}`;
    }
  }

  private registryOf(model: string, param = "model"): AdapterRegistry {
    const registry = this.deps.registries.get(model);
    if (registry !== undefined) return registry;
    const message = `${model} has no dynamic LoRA runtime; start the server with --enable-lora, or leave adapters out`;
    throw new ServiceError("lora_runtime_unavailable", message, { param });
  }
}

/** What encodeURIComponent leaves as it is. */
function escapeAscii(sign: string): string {
  return `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}
