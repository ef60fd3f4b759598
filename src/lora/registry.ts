// The adapters of one model: aliases that point to immutable generations, and leases that keep a generation in memory while
// requests use it. A generation is identified by its content, so aliases of equal files share one. Knows neither HTTP nor
// the engine.

import type {
  AdapterEntry,
  AdapterId,
  AdapterLimits,
  AdapterLoad,
  AdapterSelection,
  GenerationRecord,
} from "../core/adapter.ts";
import { assert } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import { AdapterError } from "./adapter-error.ts";

/** An adapter on disk, validated and converted for the model. */
export interface PreparedAdapter {
  /** Content id: equal for equal files. */
  readonly generation: string;
  /** GGUF file that the engine loads. */
  readonly file: string;
  readonly rank: number;
  /** In memory. */
  readonly bytes: number;
}

/** The engine's side: holds the loaded adapters, also across restarts of its process. */
export interface AdapterHost {
  /** Resolves once the adapter can be used; rejects with a ServiceError. */
  loadAdapter(adapter: AdapterId, file: string): Promise<void>;
  /** Frees an adapter that no run uses. */
  freeAdapter(adapter: AdapterId): void;
}

export interface RegistryDeps {
  readonly limits: AdapterLimits;
  /** Checks and converts the adapter at a source. Throws ServiceError or AdapterError. */
  readonly prepare: (source: string) => Promise<PreparedAdapter>;
  readonly host: AdapterHost;
}

/** A request's right to use a generation. `release` it exactly once. */
export interface AdapterLease {
  readonly adapter: AdapterId;
  readonly generation: string;
  release(): void;
}

interface Generation {
  readonly id: string;
  readonly adapter: AdapterId;
  readonly rank: number;
  readonly bytes: number;
  leases: number;
}

interface Alias {
  readonly source: string;
  readonly revision?: string;
  readonly generation: Generation;
}

export class AdapterRegistry {
  private readonly deps: RegistryDeps;
  private readonly aliases = new Map<string, Alias>();
  private readonly generations = new Map<string, Generation>();
  private nextAdapter: AdapterId = 1;
  private loading = false;

  constructor(deps: RegistryDeps) {
    this.deps = deps;
  }

  get limits(): AdapterLimits {
    return this.deps.limits;
  }

  /** Adapters, in the order in which their aliases were first loaded. */
  entries(): readonly AdapterEntry[] {
    return [...this.aliases].map(([alias, target]) => entryOf(alias, target));
  }

  /** Generations in memory, including retired ones. */
  records(): readonly GenerationRecord[] {
    return [...this.generations.values()].map((generation) => {
      const { id, rank, bytes, leases } = generation;
      const aliases = [...this.aliases].filter(([, target]) => target.generation === generation);
      return {
        generation: id,
        aliases: aliases.map(([alias]) => alias),
        rank,
        bytes,
        activeLeases: leases,
        retired: aliases.length === 0,
      };
    });
  }

  /**
   * Loads an adapter under an alias. Continues if the caller disconnects; a second load meanwhile fails with
   * `adapter_load_in_progress`. `prepare`: for sources that the operator named. Replacing an alias needs `inPlace`; open
   * requests keep their generation.
   */
  async load(request: AdapterLoad, prepare = this.deps.prepare): Promise<AdapterEntry> {
    if (this.loading) {
      throw new ServiceError(
        "adapter_load_in_progress",
        "another adapter is being loaded; retry when it has finished",
        {
          retryAfterSecs: 1,
        },
      );
    }
    this.loading = true;
    try {
      this.checkAlias(request);
      const prepared = await refusing(prepare(request.source));
      this.checkAlias(request); // unloading needs no turn, so it may have gone meanwhile
      const generation =
        this.generations.get(prepared.generation) ?? (await this.bringIn(prepared, request.alias));
      return this.point(request, generation);
    } finally {
      this.loading = false;
    }
  }

  /** Removes an alias; open requests keep its generation. */
  unload(alias: string, expectedGeneration: string | undefined): AdapterEntry {
    const target = this.aliases.get(alias);
    if (target === undefined) throw unknownAlias(alias, [...this.aliases.keys()]);
    checkGeneration(target.generation.id, expectedGeneration);
    this.aliases.delete(alias);
    this.dropIfUnused(target.generation);
    return entryOf(alias, target);
  }

  /** Leases the generation that a request selects. Throws `adapter_not_found`. */
  lease(selection: AdapterSelection): AdapterLease {
    const generation =
      "alias" in selection
        ? this.aliases.get(selection.alias)?.generation
        : this.generations.get(selection.generation);
    if (generation === undefined) {
      if ("alias" in selection) throw unknownAlias(selection.alias, [...this.aliases.keys()]);
      throw new ServiceError(
        "adapter_not_found",
        "adapter.generation is not in memory; select an alias instead",
        {
          param: "adapter",
        },
      );
    }
    generation.leases++;
    let held = true;
    return {
      adapter: generation.adapter,
      generation: generation.id,
      release: () => {
        assert(held, "a lease is released once");
        held = false;
        generation.leases--;
        this.dropIfUnused(generation);
      },
    };
  }

  private checkAlias({ alias, inPlace, expectedGeneration }: AdapterLoad): void {
    const target = this.aliases.get(alias);
    if (target === undefined) {
      if (expectedGeneration === undefined) return;
      throw new ServiceError(
        "generation_mismatch",
        `no adapter "${alias}" is loaded, so it has no generation to expect`,
        {
          param: "expected_generation",
        },
      );
    }
    if (!inPlace) {
      throw new ServiceError(
        "adapter_exists",
        `"${alias}" is already loaded; send load_inplace: true to replace it`,
        {
          param: "lora_name",
        },
      );
    }
    checkGeneration(target.generation.id, expectedGeneration);
  }

  /** Loads a generation that is not in memory into the engine. */
  private async bringIn(prepared: PreparedAdapter, alias: string): Promise<Generation> {
    this.checkCapacity(prepared, this.aliases.get(alias)?.generation);
    const adapter = this.nextAdapter++;
    await this.deps.host.loadAdapter(adapter, prepared.file);
    const { generation: id, rank, bytes } = prepared;
    const generation = { id, adapter, rank, bytes, leases: 0 };
    this.generations.set(id, generation);
    return generation;
  }

  /** `replaced` is freed after the load, unless requests or other aliases use it. */
  private checkCapacity({ rank, bytes }: PreparedAdapter, replaced: Generation | undefined): void {
    const { adaptersMax, rankMax, bytesMax } = this.deps.limits;
    if (rank > rankMax) throw tooLarge(`its rank is ${rank}, --lora-max-rank is ${rankMax}`);
    if (bytes > bytesMax) throw tooLarge(`it has ${bytes} bytes, --lora-max-bytes is ${bytesMax}`);
    const goes = replaced !== undefined && replaced.leases === 0 && this.aliasesOf(replaced) === 1;
    const staying = [...this.generations.values()].filter((one) => !(goes && one === replaced));
    if (staying.length + 1 > adaptersMax) {
      throw atCapacity(`${staying.length} adapters are in memory, --lora-max-adapters is ${adaptersMax}`);
    }
    const resident = staying.reduce((sum, one) => sum + one.bytes, 0);
    if (resident + bytes > bytesMax) {
      throw atCapacity(`it needs ${bytes} bytes beside ${resident}, --lora-max-bytes is ${bytesMax}`);
    }
  }

  private point({ alias, source, revision }: AdapterLoad, generation: Generation): AdapterEntry {
    const before = this.aliases.get(alias)?.generation;
    const target = { source, generation, ...defined({ revision }) };
    this.aliases.set(alias, target);
    if (before !== undefined) this.dropIfUnused(before);
    return entryOf(alias, target);
  }

  private aliasesOf(generation: Generation): number {
    return [...this.aliases.values()].filter((target) => target.generation === generation).length;
  }

  private dropIfUnused(generation: Generation): void {
    if (generation.leases > 0 || this.aliasesOf(generation) > 0) return;
    this.generations.delete(generation.id);
    this.deps.host.freeAdapter(generation.adapter);
  }
}

/** Turns an AdapterError into a ServiceError. */
async function refusing(preparing: Promise<PreparedAdapter>): Promise<PreparedAdapter> {
  try {
    return await preparing;
  } catch (error) {
    if (!(error instanceof AdapterError)) throw error;
    throw new ServiceError("invalid_adapter", error.message, { param: "lora_path" });
  }
}

function entryOf(alias: string, { source, revision, generation }: Alias): AdapterEntry {
  const { id, rank, bytes } = generation;
  return { alias, source, generation: id, rank, bytes, ...defined({ revision }) };
}

function checkGeneration(current: string, expected: string | undefined): void {
  if (expected === undefined || expected === current) return;
  const message = `the alias points to generation ${current}, not to the expected one; list the adapters and retry`;
  throw new ServiceError("generation_mismatch", message, { param: "expected_generation" });
}

function unknownAlias(alias: string, known: readonly string[]): ServiceError {
  const loaded = known.length === 0 ? "none is loaded" : `loaded: ${known.join(", ")}`;
  return new ServiceError("adapter_not_found", `no adapter "${alias.slice(0, 200)}"; ${loaded}`, {
    param: "adapter",
  });
}

/** It can never fit, so clients must not try again. */
function tooLarge(reason: string): ServiceError {
  return new ServiceError("adapter_too_large", `the adapter does not fit: ${reason}`, { param: "lora_path" });
}

function atCapacity(reason: string): ServiceError {
  return new ServiceError("lora_capacity_exceeded", `the adapter does not fit: ${reason}`);
}
