// Adapters in front of the served models: resolves a request's model and adapter, leases the adapter for the request, and
// lists adapters as models.

import {
  type AdapterEntry,
  type AdapterId,
  type AdapterList,
  type AdapterLoad,
  type Adapters,
  type AdapterSelection,
  BASE_MODEL,
} from "../core/adapter.ts";
import type { AnswerEvent, Converse, TargetedConversation } from "../core/agent.ts";
import { ServiceError } from "../core/error.ts";
import type { ModelInfo } from "../core/model-info.ts";
import type { Generate, RunRequest } from "../core/run.ts";
import type { BaseTarget, ModelTarget } from "../core/target.ts";
import type { AdapterRegistry, PreparedAdapter } from "./registry.ts";

export interface AdaptedModelsDeps {
  /** The served models without adapters. */
  readonly models: () => readonly ModelInfo[];
  /** The model of a name. Throws ServiceError(model_not_found). */
  readonly resolve: (name: string) => BaseTarget;
  /** By model id; other models have no dynamic adapters. */
  readonly registries: ReadonlyMap<string, AdapterRegistry>;
  readonly isMutable: boolean;
}

/** A request's `model` and `adapter`, resolved. */
interface Resolved {
  readonly model: BaseTarget;
  readonly selection: AdapterSelection | undefined;
}

export class AdaptedModels implements Adapters {
  readonly isMutable: boolean;
  private readonly deps: AdaptedModelsDeps;

  constructor(deps: AdaptedModelsDeps) {
    this.deps = deps;
    this.isMutable = deps.isMutable;
  }

  /** Generates with the model and adapter of a request. Throws for a model that is not served. */
  readonly generate: Generate = (request, signal, caller) =>
    this.onTarget(request, (target) => target.generate(request, signal, caller));

  /**
   * Resolves model and adapter once for all runs of an answer. The adapter's generation is leased until the answer ends, even
   * if its alias is replaced or unloaded meanwhile. Throws for a model that is not served.
   */
  withTarget(converse: Converse<TargetedConversation>): Converse {
    return (conversation, signal, caller) =>
      this.onTarget(conversation.run, (target) => {
        const run = { ...conversation.run, model: target.id };
        return converse({ ...conversation, run, target }, signal, caller);
      });
  }

  /** The model or adapter of a name. Throws for one that is not served. */
  named(name: string): ModelTarget {
    const { model } = this.resolve({ model: name });
    return {
      id: name,
      generate: (request, signal, caller) => this.generate({ ...request, model: name }, signal, caller),
      facts: () => model.facts(),
      loadFacts: (signal, caller) => model.loadFacts(signal, caller),
    };
  }

  /** Models and their adapters, each adapter after its model. */
  cards(): readonly ModelInfo[] {
    return this.deps.models().flatMap((model) => [model, ...this.adapterCards(model)]);
  }

  list(name: string): AdapterList {
    const registry = this.registryOf(this.deps.resolve(name).id);
    return { entries: registry.entries(), generations: registry.records(), limits: registry.limits };
  }

  async load(name: string, request: AdapterLoad): Promise<AdapterEntry> {
    this.refuseModelName(request.alias);
    return this.registryOf(this.deps.resolve(name).id).load(request);
  }

  /** Loads an adapter that the operator has configured, from any folder. */
  preload(
    name: string,
    request: AdapterLoad,
    prepare: (source: string) => Promise<PreparedAdapter>,
  ): Promise<AdapterEntry> {
    this.refuseModelName(request.alias);
    return this.registryOf(this.deps.resolve(name).id).load(request, prepare);
  }

  unload(name: string, alias: string, expectedGeneration: string | undefined): AdapterEntry {
    return this.registryOf(this.deps.resolve(name).id).unload(alias, expectedGeneration);
  }

  /** A model's own name wins, so an adapter of that name could not be reached. */
  private refuseModelName(alias: string): void {
    if (!this.deps.models().some(({ id, root }) => id === alias || root === alias)) return;
    const message = `${JSON.stringify(alias)} is the name of a model; choose another lora_name`;
    throw new ServiceError("adapter_exists", message, { param: "lora_name" });
  }

  private onTarget<E extends AnswerEvent>(
    request: Pick<RunRequest, "model" | "adapter">,
    work: (target: ModelTarget) => AsyncIterable<E>,
  ): AsyncIterable<E> {
    const { model, selection } = this.resolve(request);
    return selection === undefined ? work(targetOf(model, BASE_MODEL)) : this.leased(model, selection, work);
  }

  /** Leases an adapter's generation for some work, and names it in the `accepted` event. */
  private async *leased<E extends AnswerEvent>(
    model: BaseTarget,
    selection: AdapterSelection,
    work: (target: ModelTarget) => AsyncIterable<E>,
  ): AsyncGenerator<E> {
    const lease = this.registryOf(model.id, "adapter").lease(selection);
    try {
      for await (const event of work(targetOf(model, lease.adapter))) {
        yield event.type === "accepted" ? { ...event, adapterGeneration: lease.generation } : event;
      }
    } finally {
      lease.release();
    }
  }

  /** A model's own name comes before an adapter's card, and a card before a short alias. */
  private resolve({ model: name, adapter }: Pick<RunRequest, "model" | "adapter">): Resolved {
    const named = this.adapterNamed(name);
    if (named === undefined) return { model: this.deps.resolve(name), selection: adapter };
    if (adapter === undefined)
      return { model: this.deps.resolve(named.model), selection: { alias: named.alias } };
    const message = `model ${JSON.stringify(name.slice(0, 200))} already names an adapter; omit the field adapter`;
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
    const message = `several models have an adapter of this name; use one of ${ids}`;
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

  /** Special characters of an alias are escaped, so ids of aliases never collide; a model's own id wins. */
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
    const message = `${model} has no dynamic LoRA runtime; start the server with --enable-lora, or send requests without adapters`;
    throw new ServiceError("lora_runtime_unavailable", message, { param });
  }
}

function targetOf(model: BaseTarget, adapter: AdapterId): ModelTarget {
  return {
    ...model,
    generate: (request, signal, caller) => model.generate(request, signal, caller, adapter),
  };
}

/** Escapes an ASCII character that encodeURIComponent leaves unescaped. */
function escapeAscii(sign: string): string {
  return `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}
