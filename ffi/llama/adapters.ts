// LoRA adapters of one model: those that passes select, and a static one for all passes.

import { type AdapterId, BASE_MODEL } from "../../src/core/adapter.ts";
import { assert } from "../../src/core/assert.ts";
import { ServiceError } from "../../src/core/error.ts";
import type { Native } from "../library.ts";
import { cText, type Handle, nativeText } from "../text.ts";

export interface AdapterPlace {
  readonly model: Handle;
  readonly context: Handle;
  /** Static GGUF adapter of passes that select none; absent: none. */
  readonly path: string | undefined;
}

export class LlamaAdapters {
  private readonly native: Native;
  private readonly place: AdapterPlace;
  private readonly base: Handle | null;
  private readonly loaded = new Map<AdapterId, Handle>();

  /** Throws ServiceError(invalid_adapter) when the static adapter does not fit the model. */
  constructor(native: Native, place: AdapterPlace) {
    this.native = native;
    this.place = place;
    this.base = place.path === undefined ? null : this.open(place.path);
    this.applyTo(place.context);
  }

  /** Selects the adapter of all later passes. */
  select(adapter: AdapterId): void {
    const handle = adapter === BASE_MODEL ? this.base : this.loaded.get(adapter);
    assert(handle !== undefined, "only loaded adapters are selected");
    this.native.svc_context_adapter(this.place.context, handle);
  }

  /** Applies the static adapter to another context of the model. */
  applyTo(context: Handle): void {
    if (this.base !== null) this.native.svc_context_adapter(context, this.base);
  }

  /** Loads a GGUF adapter under an unused id. Throws ServiceError(invalid_adapter) when it does not fit the model. */
  load(adapter: AdapterId, path: string): void {
    assert(adapter !== BASE_MODEL && !this.loaded.has(adapter), "an adapter's id is free");
    this.loaded.set(adapter, this.open(path));
  }

  has(adapter: AdapterId): boolean {
    return adapter === BASE_MODEL || this.loaded.has(adapter);
  }

  /** Frees an adapter, which must not be selected. */
  free(adapter: AdapterId): void {
    const handle = this.loaded.get(adapter);
    if (handle === undefined) return;
    this.loaded.delete(adapter);
    this.native.svc_adapter_free(handle);
  }

  /** Frees all adapters. Their contexts must have been freed. */
  close(): void {
    const all = [...this.loaded.values(), ...(this.base === null ? [] : [this.base])];
    for (const handle of all) this.native.svc_adapter_free(handle);
  }

  private open(path: string): Handle {
    const handle = this.native.svc_adapter_load(this.place.model, cText(path));
    if (handle === null) throw new ServiceError("invalid_adapter", nativeText(this.native.svc_last_error()));
    return handle;
  }
}
