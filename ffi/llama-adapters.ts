// LoRA adapters of one model: those that passes choose from, and one that all of them go through.

import { type AdapterId, BASE_MODEL } from "../src/core/adapter.ts";
import { assert } from "../src/core/assert.ts";
import { ServiceError } from "../src/core/error.ts";
import type { Native } from "./library.ts";
import { cText, type Handle, nativeText } from "./text.ts";

export interface AdapterPlace {
  readonly model: Handle;
  readonly context: Handle;
  /** GGUF adapter of all passes that choose none; absent: they are the model's alone. */
  readonly path: string | undefined;
}

export class LlamaAdapters {
  private readonly native: Native;
  private readonly place: AdapterPlace;
  private readonly base: Handle | null;
  private readonly loaded = new Map<AdapterId, Handle>();

  /** Throws ServiceError(invalid_adapter) when the adapter of all passes does not fit the model. */
  constructor(native: Native, place: AdapterPlace) {
    this.native = native;
    this.place = place;
    this.base = place.path === undefined ? null : this.open(place.path);
    this.applyTo(place.context);
  }

  /** Sends the rows of all later passes through an adapter. */
  select(adapter: AdapterId): void {
    const handle = adapter === BASE_MODEL ? this.base : this.loaded.get(adapter);
    assert(handle !== undefined, "an adapter is selected that is not loaded");
    this.native.svc_context_adapter(this.place.context, handle);
  }

  /** Sends the passes of another context of the model through the adapter of all passes. */
  applyTo(context: Handle): void {
    if (this.base !== null) this.native.svc_context_adapter(context, this.base);
  }

  /** Loads a GGUF adapter under an id that is free. Throws ServiceError(invalid_adapter) when it does not fit the model. */
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

  /** Frees all adapters. Their contexts must be gone. */
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
